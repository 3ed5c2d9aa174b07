package import Waypost

extension JSONValue {
    /// The number, or null.
    package init(_ number: Int64?) { self = number.map { .int($0) } ?? .null }

    /// The text, or null.
    package init(_ text: String?) { self = text.map { .string($0) } ?? .null }

    /// The integer in a document from outside, see ``Fields/bounded(_:)``.
    ///
    /// `intValue` is for values that are only handed on: an application's id may have 19 digits.
    package var boundedInt: Int64? { intValue.map(Fields.bounded) }

    /// The time in a document from outside, in milliseconds since 1970, moved to one that is taken.
    package var time: Int64? { intValue.map { min(max($0, 0), Fields.latestTime) } }
}
