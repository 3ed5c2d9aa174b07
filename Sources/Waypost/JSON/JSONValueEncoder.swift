/// Turns an `Encodable` value into a `JSONValue`.
///
/// A number that JSON cannot hold (NaN, infinity, an integer beyond `Int64`) is an `EncodingError`
/// with its coding path, never a silent change.
struct JSONValueEncoder: Sendable {
    /// An encoder.
    init() {}

    /// The JSON that stands for the value.
    func encode(_ value: some Encodable) throws -> JSONValue {
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
        // Known to be of the type, and a constant where the compiler makes one of these for it.
        if Value.self == Int.self { return .int(Int64(unsafeBitCast(value, to: Int.self))) }
        if Value.self == String.self { return .string(unsafeBitCast(value, to: String.self)) }
        if Value.self == Bool.self { return .bool(unsafeBitCast(value, to: Bool.self)) }
        if Value.self == Double.self { return try json(of: unsafeBitCast(value, to: Double.self), path) }
        if Value.self == Float.self {
            return try json(of: Double(unsafeBitCast(value, to: Float.self)), path)
        }
        if let json = value as? JSONValue { return json }
        if Value.self is any FixedWidthInteger.Type, let number = value as? any FixedWidthInteger {
            guard let exact = Int64(exactly: number) else {
                throw unfit(number, "the integer does not fit in 64 bits; write it as a string", path)
            }
            return .int(exact)
        }
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

    private static func json(of number: Double, _ path: JSONPath) throws -> JSONValue {
        guard number.isFinite else { throw unfit(number, "JSON has no number that is not finite", path) }
        return .double(number)
    }

    private static func unfit(_ value: Any, _ reason: String, _ path: JSONPath) -> EncodingError {
        .invalidValue(value, .init(codingPath: path.keys, debugDescription: reason))
    }
}

extension EncodingError {
    /// The place, as `items[2].name`, and what is wrong there; without the value, which may be a secret.
    var reason: String {
        guard case .invalidValue(_, let context) = self else { return "the value does not fit" }
        let place = JSONTree.place(context.codingPath)
        return place.isEmpty ? context.debugDescription : "\(place): \(context.debugDescription)"
    }
}
