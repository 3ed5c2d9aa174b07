/// The single value of a slot.
struct JSONSingleSlot: SingleValueEncodingContainer {
    let slot: JSONSlot
    var codingPath: [any CodingKey] { slot.codingPath }

    func encodeNil() { slot.content = .value(.null) }
    func encode<T: Encodable>(_ value: T) throws { try slot.store(value) }
}

/// The members of an object while they are encoded.
struct JSONMemberSlots<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: JSONSlot
    var codingPath: [any CodingKey] { slot.codingPath }

    func encodeNil(forKey key: Key) { slot.child(key).content = .value(.null) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try slot.child(key).store(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        slot.child(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        slot.child(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { slot.child(JSONKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { slot.child(key) }
}

/// The elements of an array while they are encoded.
struct JSONElementSlots: UnkeyedEncodingContainer {
    let slot: JSONSlot
    var codingPath: [any CodingKey] { slot.codingPath }
    var count: Int { if case .elements(let elements) = slot.content { elements.count } else { 0 } }

    func encodeNil() { slot.nextChild().content = .value(.null) }
    func encode<T: Encodable>(_ value: T) throws { try slot.nextChild().store(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        slot.nextChild().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { slot.nextChild().unkeyedContainer() }
    func superEncoder() -> any Encoder { slot.nextChild() }
}
