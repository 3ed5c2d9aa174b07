/// A JSON value as Swift sees it: what parameters, arguments, results and messages are made of.
///
/// Integers and other numbers are different cases, so that an identifier of 19 digits keeps all its digits.
/// An integer beyond `Int64` is refused; a value is never NaN or infinite when it was parsed.
public enum JSONValue: Sendable, Hashable {
    /// JSON `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without fraction and exponent that fits in 64 bits.
    case int(Int64)
    /// Any other number.
    case double(Double)
    /// A text.
    case string(String)
    /// A list of values.
    case array([JSONValue])
    /// A set of named values; the order of the text they came from is not kept.
    case object([String: JSONValue])
}

extension JSONValue {
    /// A number: `["id": JSONValue(id)]`; one that 64 bits do not hold with a sign becomes a string with all its digits.
    public init(_ number: some BinaryInteger) {
        self = Int64(exactly: number).map(JSONValue.int) ?? .string(String(number))
    }

    /// A text that is not known before: `["name": JSONValue(name)]`.
    public init(_ text: String) { self = .string(text) }

    /// A number with a fraction; one that is not finite is written as null.
    public init(_ number: Double) { self = .double(number) }

    /// A truth value.
    public init(_ flag: Bool) { self = .bool(flag) }

    /// The text, when this is a string.
    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, when this is an integer, or a number without a fraction that fits.
    public var intValue: Int64? {
        switch self {
        case .int(let number): number
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// The number, when this is one.
    public var doubleValue: Double? {
        switch self {
        case .int(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// The truth value, when this is one.
    public var boolValue: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    /// The elements, when this is an array.
    public var arrayValue: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members, when this is an object.
    public var objectValue: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// Whether this is JSON `null`.
    public var isNull: Bool { self == .null }

    /// The member of that name, when this is an object that has one.
    public subscript(key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The element at that place, when this is an array that is long enough.
    public subscript(index: Int) -> JSONValue? {
        if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
    }

    /// What kind of value this is, for a sentence: `an object`, `a string`.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a bool"
        case .int: "an integer"
        case .double: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// The compact JSON text.
    public var description: String { text }
}
