package import Waypost

/// Typed access to the members of an object from outside; what does not fit is a ``Failure`` naming the field.
package struct Fields: Sendable {
    /// The largest integer that every JSON implementation reads exactly: 2^53 - 1.
    package static let largestInteger: Int64 = 9_007_199_254_740_991
    /// A number moved to the nearest that every JSON implementation reads exactly: a sum or a difference of two, or a
    /// thousand times one, then still fits.
    static func bounded(_ number: Int64) -> Int64 {
        min(max(number, -largestInteger), largestInteger)
    }

    /// The latest time that is taken: the year 2286, in milliseconds since 1970.
    package static let latestTime: Int64 = 9_999_999_999_999

    /// There are few, and each name is short: to look at each is quicker than a hash.
    private let members: [(key: String, value: JSONValue)]
    /// What was found in the place of an object; it has no members.
    package let other: JSONValue?

    package var names: some Sequence<String> { members.lazy.map(\.key) }

    /// All of it.
    package var json: JSONValue { other ?? .object(Dictionary(members) { first, _ in first }) }

    package init(of json: JSONValue) {
        let object = json.objectValue
        members = object.map { Array($0) } ?? []
        other = object == nil ? json : nil
    }

    /// Reads one JSON text.
    init(parsing bytes: [UInt8], limits: JSONLimits) throws(JSONError) {
        (members, other) = try JSONValue.members(parsing: bytes, limits: limits)
    }

    package subscript(_ name: String) -> JSONValue? {
        var place = 0
        while place < members.count {
            if members[place].key == name {
                if case .null = members[place].value { return nil }
                return members[place].value
            }
            place += 1
        }
        return nil
    }

    package func required<Value>(_ name: String, _ value: Value?) throws(Failure) -> Value {
        guard let value else { throw Failure(.badField, "\(name) is missing") }
        return value
    }

    package func text(_ name: String) throws(Failure) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw mismatch(name, "a string", value) }
        return text
    }

    /// An integer; without a range it is ``bounded(_:)``.
    package func integer(
        _ name: String, in range: ClosedRange<Int64>? = nil
    ) throws(Failure) -> Int64? {
        guard let value = self[name] else { return nil }
        guard case .int(let number) = value else { throw mismatch(name, "an integer", value) }
        guard let range else { return Self.bounded(number) }
        guard range.contains(number) else {
            throw Failure(
                .badField, "\(name) must be \(range.lowerBound) to \(range.upperBound); found \(number)")
        }
        return number
    }

    /// An integer that is moved into the range when it lies outside: for what only people look at.
    package func clamped(_ name: String, to range: ClosedRange<Int64>) throws(Failure) -> Int64? {
        try integer(name).map { min(max($0, range.lowerBound), range.upperBound) }
    }

    package func object(_ name: String) throws(Failure) -> [String: JSONValue]? {
        guard let value = self[name] else { return nil }
        guard case .object(let members) = value else { throw mismatch(name, "an object", value) }
        return members
    }

    /// Checks `v`, the version of the protocol; absent means ours.
    ///
    /// - Throws: ``Failure`` 505 naming the supported version.
    func checkVersion() throws(Failure) {
        guard let version = try integer("v"), version != Version.wireProtocol else { return }
        throw Failure(
            .version, "protocol version \(version) is not supported; supported: \(Version.wireProtocol)")
    }

    func mismatch(_ name: String, _ expected: String, _ found: JSONValue) -> Failure {
        Failure(.badField, "\(name) must be \(expected); found \(found.kind)")
    }
}

/// Sums and differences of numbers from outside: they stay at the largest and at the least number that there is.
///
/// What is read as a field lies within ``Fields/largestInteger``, so that one sum of two fits; what is added up message after
/// message does not.
extension FixedWidthInteger {
    /// The sum, or the nearest number.
    package func adding(clamping other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest number.
    package func subtracting(clamping other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// Adds a number, as far as there are numbers.
    package mutating func add(clamping other: Self) { self = adding(clamping: other) }
}

extension JSONError {
    /// The rejection of a payload that can't be read: 413 when it exceeds a limit, 422 when a number of it can't be kept
    /// as it is, else 400.
    package var rejection: Failure {
        switch reason {
        case .tooDeep, .tooManyKeys, .stringTooLong, .tooManyMarks, .tooLong:
            Failure(.tooLarge, description)
        case .integerOutOfRange, .numberOutOfRange: Failure(.badField, description)
        case .empty, .byteOrderMark, .notUTF8, .duplicateKey, .loneSurrogate, .syntax:
            Failure(.badJSON, description)
        }
    }
}

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
