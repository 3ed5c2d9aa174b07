/// What a value may be, in the words of JSON Schema; nothing set means anything.
public struct ValueSchema: Sendable, Hashable {
    /// The kinds of JSON values.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Text.
        case string
        /// A whole number.
        case integer
        /// Any number.
        case number
        /// True or false.
        case boolean
        /// A list.
        case array
        /// Values by their keys.
        case object
    }

    /// The kind; nil for any.
    package var kind: Kind?
    /// What the text is, for people and for those who know the word: `uuid`, or the name of a custom converter.
    package var format: String?
    /// The least number; nil for no limit of its own.
    var minimum: Int64?
    /// The greatest number; nil for no limit of its own.
    package var maximum: Int64?
    /// The texts that it may be; empty for any.
    package var values: [String]

    /// A schema by its parts.
    public init(
        _ kind: Kind? = nil, format: String? = nil, minimum: Int64? = nil, maximum: Int64? = nil,
        values: [String] = []
    ) {
        self.kind = kind
        self.format = format
        self.minimum = minimum
        self.maximum = maximum
        self.values = values
    }

    /// Anything.
    public static let any = ValueSchema()

    /// Why a value is none of these, as a part of a sentence; nil when it is one.
    ///
    /// - Parameter readsText: Whether a text may stand for another kind, as in a URL.
    package func problem(with value: JSONValue, readsText: Bool) -> String? {
        let decoder = JSONValueDecoder(readsText: readsText, readsLists: readsText)
        func fits<T: Decodable>(_ type: T.Type) -> Bool { (try? decoder.decode(type, from: value)) != nil }
        let isKind =
            switch kind {
            case nil: true
            case .string: fits(String.self)
            case .integer: fits(Int64.self) || fits(UInt64.self)
            case .number: fits(Double.self)
            case .boolean: fits(Bool.self)
            case .array: fits([JSONValue].self)
            case .object: fits([String: JSONValue].self)
            }
        guard isKind, isWithinLimits(value, decoder), isOneOf(value) else {
            let article = kind == .integer || kind == .array || kind == .object ? "an" : "a"
            let wanted = values.isEmpty ? "\(article) \(text)" : text
            return "should be \(wanted) but is \(isKind ? "another" : value.kind)"
        }
        return nil
    }

    private func isWithinLimits(_ value: JSONValue, _ decoder: JSONValueDecoder) -> Bool {
        guard minimum != nil || maximum != nil else { return true }
        guard let number = try? decoder.decode(Int64.self, from: value) else { return maximum == nil }
        return number >= minimum ?? .min && number <= maximum ?? .max
    }

    private func isOneOf(_ value: JSONValue) -> Bool {
        values.isEmpty || values.contains { $0 == value.plainText }
    }

    /// Whether each value of another schema is one of this, too.
    package func takesAll(of other: ValueSchema) -> Bool {
        (kind == nil || kind == other.kind || kind == .number && other.kind == .integer)
            && (format == nil || format == other.format)
            && (minimum.map { least in other.minimum.map { $0 >= least } ?? false } ?? true)
            && (maximum.map { most in other.maximum.map { $0 <= most } ?? false } ?? true)
            && (values.isEmpty || !other.values.isEmpty && Set(other.values).isSubset(of: values))
    }

    /// The schema for people: `integer 1..99`, `red or blue`, `any value`.
    package var text: String {
        guard values.isEmpty else { return values.joined(separator: " or ") }
        let range =
            minimum == nil && maximum == nil
            ? nil : "\(minimum.map { "\($0)" } ?? "")..\(maximum.map { "\($0)" } ?? "")"
        let parts = [format ?? kind?.rawValue ?? "any value", range].compactMap(\.self)
        return parts.joined(separator: " ")
    }
}

extension ValueSchema {
    /// The members of a JSON Schema.
    package var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        members["type"] = kind.map { .string($0.rawValue) }
        members["format"] = format.map { .string($0) }
        members["minimum"] = minimum.map { .int($0) }
        members["maximum"] = maximum.map { .int($0) }
        if !values.isEmpty { members["enum"] = .array(values.map { .string($0) }) }
        return members
    }

    /// Reads the members of a JSON Schema; what is not known here says nothing.
    init(_ members: [String: JSONValue]) {
        self.init(
            members["type"]?.stringValue.flatMap(Kind.init), format: members["format"]?.stringValue,
            minimum: members["minimum"]?.intValue, maximum: members["maximum"]?.intValue,
            values: members["enum"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    }
}

// MARK: Swift types

extension ValueSchema {
    /// What a Swift type reads from JSON, as far as it is known; of an optional what it wraps.
    init(of type: Any.Type) { self.init(of: type, depth: 0) }

    /// - Parameter depth: How many types around it are read as it is.
    init(of type: Any.Type, depth: Int) {
        self =
            switch type {
            case let optional as any WrappingType.Type: ValueSchema(of: optional.wrapped, depth: depth)
            case let list as any ListType.Type: list.schema
            case is Bool.Type: ValueSchema(.boolean)
            case is String.Type: ValueSchema(.string)
            case let integer as any FixedWidthInteger.Type: Self.schema(of: integer)
            case is any BinaryFloatingPoint.Type: ValueSchema(.number)
            case _ where FoundationJSON.isHandled(type):
                FoundationJSON.form(of: type).map { ValueSchema(Kind(rawValue: $0.kind), format: $0.format) }
                    ?? .any
            case let choice as any (CaseIterable & RawRepresentable).Type:
                Self.schema(ofCasesOf: choice)
            case let choice as any (Decodable & RawRepresentable).Type: Self.schema(of: choice, depth)
            case let type as any Decodable.Type: FormReader.schema(of: type, depth: depth)
            default: .any
            }
    }

    /// Whether a value of the type may be absent.
    static func isOptional(_ type: Any.Type) -> Bool { type is any WrappingType.Type }

    private static func schema<Integer: FixedWidthInteger>(of type: Integer.Type) -> ValueSchema {
        let isWide = Integer.bitWidth >= Int64.bitWidth
        return ValueSchema(
            .integer, minimum: isWide && Integer.isSigned ? nil : Int64(exactly: Integer.min),
            maximum: isWide ? nil : Int64(exactly: Integer.max))
    }

    private static func schema<Choice: CaseIterable & RawRepresentable>(
        ofCasesOf type: Choice.Type
    ) -> ValueSchema {
        schema(of: type, cases: Array(Choice.allCases))
    }

    /// Of an enumeration that lists its cases or not, and of any other type that is read as its raw value is.
    private static func schema<Choice: Decodable & RawRepresentable>(
        of type: Choice.Type, _ depth: Int
    ) -> ValueSchema {
        let form = FormReader.schema(of: type, depth: depth)
        // One that reads something else has its own way of writing cases.
        guard form == ValueSchema(of: Choice.RawValue.self), let cases = ChoiceCases.all(of: type) else {
            return form
        }
        return schema(of: type, cases: cases)
    }

    private static func schema<Choice: RawRepresentable>(
        of type: Choice.Type, cases: [Choice]
    ) -> ValueSchema {
        if let texts = cases.map(\.rawValue) as? [String] { return ValueSchema(.string, values: texts) }
        return ValueSchema(of: Choice.RawValue.self)
    }
}

/// A type of which a value may be absent.
protocol WrappingType {
    /// What it is when it is there.
    static var wrapped: Any.Type { get }
}

extension Optional: WrappingType {
    static var wrapped: Any.Type { Wrapped.self }
}

private protocol ListType {
    static var schema: ValueSchema { get }
}

extension Array: ListType {
    fileprivate static var schema: ValueSchema { ValueSchema(.array) }
}

extension Set: ListType {
    fileprivate static var schema: ValueSchema { ValueSchema(.array) }
}

extension Dictionary: ListType {
    // Others are written as arrays of keys and values.
    fileprivate static var schema: ValueSchema { Key.self == String.self ? ValueSchema(.object) : .any }
}
