/// Finds out which single value a `Decodable` type is read from: it has the type begin, and takes note of what it asks
/// for.
final class FormReader {
    private var asked: Set<ValueSchema> = []
    private let depth: Int

    /// Types that are read as other types are not followed further.
    private static let maximumDepth = 4

    private init(depth: Int) { self.depth = depth }

    /// What the type reads; anything for one that has parts, or tries several kinds.
    static func schema<T: Decodable>(of type: T.Type, depth: Int = 0) -> ValueSchema {
        guard depth < maximumDepth else { return .any }
        let reader = FormReader(depth: depth)
        _ = try? T(from: FormDecoder(reader: reader))
        return reader.asked.count == 1 ? reader.asked.first ?? .any : .any
    }

    fileprivate func note(_ schema: ValueSchema) { asked.insert(schema) }

    fileprivate func note(_ type: Any.Type) { asked.insert(ValueSchema(of: type, depth: depth + 1)) }
}

/// What ends the beginning.
private struct Enough: Error {}

private struct FormDecoder: Decoder, SingleValueDecodingContainer {
    let reader: FormReader
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        reader.note(ValueSchema.any)
        throw Enough()
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        reader.note(ValueSchema.any)
        throw Enough()
    }
    func singleValueContainer() -> any SingleValueDecodingContainer { self }
    func decodeNil() -> Bool { false }
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        reader.note(type)
        throw Enough()
    }
}
