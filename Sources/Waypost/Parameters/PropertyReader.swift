/// Finds out what a `Decodable` type reads: it decodes an instance from nothing and takes note of what is asked for.
///
/// Where a type cannot be made of nothing, what it would have read after that is not known.
final class PropertyReader {
    private(set) var found: [RouteParameter] = []
    private var optional: Set<String> = []
    fileprivate let depth: Int

    /// Types within types are not followed further.
    private static let maximumDepth = 8

    private init(depth: Int) { self.depth = depth }

    private struct NotKnown: Error {}

    /// What the type reads as a keyed structure, in the order in which it does.
    static func properties<T: Decodable>(of type: T.Type) -> [RouteParameter] {
        let reader = PropertyReader(depth: 0)
        _ = try? T(from: EmptyDecoder(reader: reader))
        return reader.found
    }

    fileprivate func mayBeAbsent(_ name: String) { optional.insert(name) }

    fileprivate func note(_ name: String, _ type: Any.Type) {
        guard !found.contains(where: { $0.name == name }) else { return }
        let isRequired = !optional.contains(name) && !ValueSchema.isOptional(type)
        found.append(RouteParameter(name, ValueSchema(of: type), isRequired: isRequired))
    }

    /// A value of the type: zero, false, an empty text or list, the first case.
    fileprivate func sample<T: Decodable>(_ type: T.Type) throws -> T {
        let value: Any? =
            switch type {
            case is Bool.Type: false
            case is String.Type: ""
            case let integer as any FixedWidthInteger.Type: integer.init(truncatingIfNeeded: 0)
            case let number as any BinaryFloatingPoint.Type: number.init(0)
            case let choice as any CaseIterable.Type: Self.first(of: choice)
            case let choice as any RawRepresentable.Type: Self.firstCase(of: choice)
            default: nil
            }
        if let value = value as? T { return value }
        guard depth < Self.maximumDepth else { throw NotKnown() }
        return try T(from: EmptyDecoder(reader: PropertyReader(depth: depth + 1)))
    }

    private static func firstCase<Choice: RawRepresentable>(of type: Choice.Type) -> Any? {
        ChoiceCases.all(of: type)?.first
    }

    private static func first<Choice: CaseIterable>(of type: Choice.Type) -> Any? { Choice.allCases.first }
}

extension RouteParameter {
    /// The properties of a structure that is read from the parameters, optional ones not required.
    ///
    /// It is decoded once from zeros and empty texts to see what it reads.
    public static func properties<T: Decodable>(of type: T.Type) -> [RouteParameter] {
        PropertyReader.properties(of: type)
    }
}

/// A decoder that has nothing, and gives samples.
private struct EmptyDecoder: Decoder {
    let reader: PropertyReader
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(EmptyMembers<Key>(reader: reader))
    }
    func unkeyedContainer() -> any UnkeyedDecodingContainer { EmptyElements(decoder: self) }
    func singleValueContainer() -> any SingleValueDecodingContainer { EmptyValue(reader: reader) }
}

private struct EmptyMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: PropertyReader
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_ key: Key) -> Bool { true }
    /// Asked before what may be absent is decoded; not nil, so that its type is heard of.
    func decodeNil(forKey key: Key) -> Bool {
        reader.mayBeAbsent(key.stringValue)
        return false
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        reader.note(key.stringValue, type)
        return try reader.sample(type)
    }
    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        throw NoValue()
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw NoValue() }
    func superDecoder() throws -> any Decoder { throw NoValue() }
    func superDecoder(forKey key: Key) throws -> any Decoder { throw NoValue() }
}

private struct NoValue: Error {}

private struct EmptyValue: SingleValueDecodingContainer {
    let reader: PropertyReader
    var codingPath: [any CodingKey] { [] }
    func decodeNil() -> Bool { true }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try reader.sample(type) }
}

private struct EmptyElements: UnkeyedDecodingContainer {
    let decoder: EmptyDecoder
    var codingPath: [any CodingKey] { [] }
    var count: Int? { 0 }
    var isAtEnd: Bool { true }
    var currentIndex: Int { 0 }
    func decodeNil() throws -> Bool { throw NoValue() }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { throw NoValue() }
    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { throw NoValue() }
    func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw NoValue() }
    func superDecoder() throws -> any Decoder { throw NoValue() }
}
