/// The members of an object while they are decoded.
struct JSONMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    let tree: JSONTree

    var codingPath: [any CodingKey] { tree.codingPath }
    var allKeys: [Key] { members.keys.compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func child(_ key: some CodingKey) throws -> JSONTree {
        guard let member = members[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: codingPath, debugDescription: "is missing"))
        }
        return tree.below(member, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try child(key).decodeNil() }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try child(key).decode(type) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try child(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try child(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try child(JSONKey(stringValue: "super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }
}

/// The elements of an array while they are decoded, one after the other.
struct JSONElements: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let tree: JSONTree
    private(set) var currentIndex = 0

    init(elements: [JSONValue], tree: JSONTree) {
        self.elements = elements
        self.tree = tree
    }

    var codingPath: [any CodingKey] { tree.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    private func here(_ type: any Any.Type) throws -> JSONTree {
        let key = JSONKey(intValue: currentIndex)
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type, .init(codingPath: codingPath + [key], debugDescription: "is missing"))
        }
        return tree.below(elements[currentIndex], key)
    }

    private mutating func next<T>(_ body: (JSONTree) throws -> T) throws -> T {
        let value = try body(here(T.self))
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard try here(JSONValue.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type) } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let nested = try here([JSONValue].self).unkeyedContainer()
        currentIndex += 1
        return nested
    }

    mutating func superDecoder() throws -> any Decoder {
        let tree = try here(JSONValue.self)
        currentIndex += 1
        return tree
    }
}
