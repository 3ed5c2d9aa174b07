/// The single value of a slot.
struct JSONSingleSlot: SingleValueEncodingContainer {
    let slot: JSONSlot
    var codingPath: [any CodingKey] { slot.codingPath }

    func encodeNil() { slot.content = .value(.null) }
    func encode(_ value: Bool) { slot.content = .value(.bool(value)) }
    func encode(_ value: String) { slot.content = .value(.string(value)) }
    func encode(_ value: Double) throws { try slot.store(double: value) }
    func encode(_ value: Float) throws { try slot.store(double: Double(value)) }
    func encode(_ value: Int) throws { try slot.store(integer: value) }
    func encode(_ value: Int8) throws { try slot.store(integer: value) }
    func encode(_ value: Int16) throws { try slot.store(integer: value) }
    func encode(_ value: Int32) throws { try slot.store(integer: value) }
    func encode(_ value: Int64) throws { try slot.store(integer: value) }
    func encode(_ value: UInt) throws { try slot.store(integer: value) }
    func encode(_ value: UInt8) throws { try slot.store(integer: value) }
    func encode(_ value: UInt16) throws { try slot.store(integer: value) }
    func encode(_ value: UInt32) throws { try slot.store(integer: value) }
    func encode(_ value: UInt64) throws { try slot.store(integer: value) }
    func encode<T: Encodable>(_ value: T) throws { try slot.store(value) }
}

/// The members of an object while they are encoded.
struct JSONMemberSlots<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: JSONSlot
    var codingPath: [any CodingKey] { slot.codingPath }

    func encodeNil(forKey key: Key) { slot.child(key).content = .value(.null) }
    func encode(_ value: Bool, forKey key: Key) { slot.child(key).content = .value(.bool(value)) }
    func encode(_ value: String, forKey key: Key) { slot.child(key).content = .value(.string(value)) }
    func encode(_ value: Double, forKey key: Key) throws { try slot.child(key).store(double: value) }
    func encode(_ value: Float, forKey key: Key) throws { try slot.child(key).store(double: Double(value)) }
    func encode(_ value: Int, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: Int8, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: Int16, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: Int32, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: Int64, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: UInt, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: UInt8, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: UInt16, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: UInt32, forKey key: Key) throws { try slot.child(key).store(integer: value) }
    func encode(_ value: UInt64, forKey key: Key) throws { try slot.child(key).store(integer: value) }
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
    func encode(_ value: Bool) { slot.nextChild().content = .value(.bool(value)) }
    func encode(_ value: String) { slot.nextChild().content = .value(.string(value)) }
    func encode(_ value: Double) throws { try slot.nextChild().store(double: value) }
    func encode(_ value: Float) throws { try slot.nextChild().store(double: Double(value)) }
    func encode(_ value: Int) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: Int8) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: Int16) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: Int32) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: Int64) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: UInt) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: UInt8) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: UInt16) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: UInt32) throws { try slot.nextChild().store(integer: value) }
    func encode(_ value: UInt64) throws { try slot.nextChild().store(integer: value) }
    func encode<T: Encodable>(_ value: T) throws { try slot.nextChild().store(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        slot.nextChild().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { slot.nextChild().unkeyedContainer() }
    func superEncoder() -> any Encoder { slot.nextChild() }
}
