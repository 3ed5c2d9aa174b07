/// Turns an `Encodable` value into a `JSONValue`.
///
/// A number that JSON cannot hold (NaN, infinity, an integer beyond `Int64`) is an `EncodingError`
/// with its coding path, never a silent change.
package struct JSONValueEncoder: Sendable {
    /// An encoder.
    package init() {}

    /// The JSON that stands for the value.
    package func encode(_ value: some Encodable) throws -> JSONValue {
        try JSONSlot.value(of: value, path: .root)
    }
}

/// Where one encoded value lands: the encoder that `encode(to:)` sees.
///
/// A class, because containers hand out their slots before these are filled.
final class JSONSlot: Encoder {
    enum Content {
        case nothing
        case value(JSONValue)
        case members([String: JSONSlot])
        case elements([JSONSlot])
    }

    let path: JSONPath
    var content = Content.nothing

    init(path: JSONPath) {
        self.path = path
    }

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// What was encoded; a type that encoded nothing is an empty object.
    var result: JSONValue {
        switch content {
        case .nothing: .object([:])
        case .value(let value): value
        case .members(let members): .object(members.mapValues(\.result))
        case .elements(let elements): .array(elements.map(\.result))
        }
    }

    static func value<Value: Encodable>(of value: Value, path: JSONPath) throws -> JSONValue {
        // The commonest are taken without a slot.
        if Value.self == Int.self, let number = value as? Int { return .int(Int64(number)) }
        if Value.self == String.self, let text = value as? String { return .string(text) }
        if let json = value as? JSONValue { return json }
        if let json = try FoundationJSON.encode(value, path: path) { return json }
        let slot = JSONSlot(path: path)
        try value.encode(to: slot)
        return slot.result
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .members = content {} else { content = .members([:]) }
        return KeyedEncodingContainer(JSONMemberSlots<Key>(slot: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .elements = content {} else { content = .elements([]) }
        return JSONElementSlots(slot: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { JSONSingleSlot(slot: self) }

    func child(_ key: some CodingKey) -> JSONSlot {
        let child = JSONSlot(path: .child(of: path, key: key))
        guard case .members(var members) = content else { return child }
        // Let go of the stored copy first: otherwise each new member would copy the dictionary.
        content = .nothing
        members[key.stringValue] = child
        content = .members(members)
        return child
    }

    func nextChild() -> JSONSlot {
        guard case .elements(var elements) = content else { return JSONSlot(path: path) }
        content = .nothing
        let child = JSONSlot(path: .child(of: path, key: JSONKey(intValue: elements.count)))
        elements.append(child)
        content = .elements(elements)
        return child
    }

    func store(_ value: some Encodable) throws {
        content = .value(try JSONSlot.value(of: value, path: path))
    }

    func store(integer number: some BinaryInteger) throws {
        guard let exact = Int64(exactly: number) else {
            throw unfit(number, "the integer does not fit in 64 bits; write it as a string")
        }
        content = .value(.int(exact))
    }

    func store(double number: Double) throws {
        guard number.isFinite else { throw unfit(number, "JSON has no number that is not finite") }
        content = .value(.double(number))
    }

    private func unfit(_ value: Any, _ reason: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: codingPath, debugDescription: reason))
    }
}

extension EncodingError {
    /// The place, as `items[2].name`, and what is wrong there; without the value, which may be a secret.
    package var reason: String {
        guard case .invalidValue(_, let context) = self else { return "the value does not fit" }
        let place = JSONTree.place(context.codingPath)
        return place.isEmpty ? context.debugDescription : "\(place): \(context.debugDescription)"
    }
}
