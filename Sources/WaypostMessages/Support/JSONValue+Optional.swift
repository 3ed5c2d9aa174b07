package import Waypost

extension JSONValue {
    /// The number, or null.
    package init(_ number: Int64?) { self = number.map { .int($0) } ?? .null }

    /// The text, or null.
    package init(_ text: String?) { self = text.map { .string($0) } ?? .null }
}
