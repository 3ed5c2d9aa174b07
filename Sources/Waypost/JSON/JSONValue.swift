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

// There is no nil literal: in `condition ? value : nil` it would turn the absence that was meant into a null.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// An integer.
    public init(integerLiteral value: Int64) { self = .int(value) }

    /// A number.
    public init(floatLiteral value: Double) { self = .double(value) }

    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A list of values.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// A set of named values; of a repeated name the last one stays.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}

extension JSONValue {
    /// Reads one JSON text, strictly as RFC 8259 has it.
    ///
    /// Duplicate keys, a byte order mark, invalid UTF-8, half surrogate pairs and texts beyond the limits are errors.
    init(parsing bytes: UnsafeRawBufferPointer, limits: JSONLimits = .protocolDefaults)
        throws(JSONError)
    {
        var parser = JSONParser(bytes.assumingMemoryBound(to: UInt8.self), limits: limits)
        self = try parser.document()
    }

    /// Reads one JSON text from bytes.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .protocolDefaults) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
            var parser = JSONParser(buffer, limits: limits)
            return try parser.document()
        }
    }

    /// Reads one JSON text from bytes: the members of an object in their order, or what it is when it is no object.
    ///
    /// For objects with few members, which it takes less time to look through than to make a dictionary of.
    package static func members(
        parsing bytes: [UInt8], limits: JSONLimits
    ) throws(JSONError) -> (members: [(key: String, value: JSONValue)], other: JSONValue?) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
            var parser = JSONParser(buffer, limits: limits)
            if let members = try parser.members() { return (members, nil) }
            parser = JSONParser(buffer, limits: limits)
            return ([], try parser.document())
        }
    }

    /// Reads one JSON text from any collection of bytes.
    public init(
        parsing bytes: some Collection<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONError) {
        try self.init(parsing: Array(bytes), limits: limits)
    }

    /// Reads one JSON text from a string.
    public init(parsing text: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}

extension JSONValue {
    /// The compact JSON text as bytes: keys sorted, slashes not escaped, no white space.
    ///
    /// Equal values give equal bytes. A number that is not finite, which no parsed value holds, becomes `null`.
    public func serialized() -> [UInt8] {
        var bytes = JSONBytes(reserving: 256)
        JSONText.append(self, to: &bytes)
        return bytes.array
    }

    /// The compact JSON text, keys sorted.
    public var text: String {
        String(decoding: serialized(), as: UTF8.self)
    }

    /// The JSON text for people: two spaces a level, keys sorted.
    package var prettyText: String {
        var bytes = JSONBytes(reserving: 256)
        JSONText.append(self, indent: 0, to: &bytes)
        return String(decoding: bytes.array, as: UTF8.self)
    }

    /// The value as a URL has it: a text as it is, anything else as JSON.
    var plainText: String { if case .string(let text) = self { text } else { text } }
}
