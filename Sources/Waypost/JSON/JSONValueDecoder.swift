/// Reads a `Decodable` value out of a `JSONValue`.
///
/// Numbers must fit exactly: 300 is not a `UInt8` and 1.5 is not an `Int`; 2.0 is the integer 2.
/// Errors are `DecodingError`s whose coding path and sentence name the place and the types, never the value: it may be
/// a secret, and errors are reported.
package struct JSONValueDecoder: Sendable {
    /// Whether a text may stand for a number or a truth value, as it does in a URL's query; off unless set.
    var readsText: Bool
    /// Whether a text may also stand for an array or an object, as JSON, and for an array of one; off
    /// unless set.
    var readsLists: Bool

    /// A decoder; `readsText` lets `"2"` be read as `2`, `readsLists` lets `"[1,2]"` be read as two numbers.
    package init(readsText: Bool = false, readsLists: Bool = false) {
        self.readsText = readsText
        self.readsLists = readsLists
    }

    /// The value that the JSON stands for.
    package func decode<T: Decodable>(_ type: T.Type = T.self, from value: JSONValue) throws -> T {
        try decode(type, from: value, list: nil)
    }

    /// The same; `list` is what the value is where an array is wanted, `lists` that for the members of an object.
    func decode<T: Decodable>(
        _ type: T.Type, from value: JSONValue, list: [JSONValue]? = nil, lists: [String: [JSONValue]] = [:]
    ) throws -> T {
        var tree = JSONTree(value: value, path: .root, readsText: readsText, readsLists: readsLists)
        tree.list = list
        tree.lists = lists
        return try tree.decode(type)
    }
}

/// The path from the root to a value, shared between the containers below it.
indirect enum JSONPath {
    case root
    case child(of: JSONPath, key: any CodingKey)

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var here = self
        while case .child(let parent, let key) = here {
            keys.append(key)
            here = parent
        }
        return keys.reversed()
    }
}

/// A key made of a name or an index.
struct JSONKey: CodingKey {
    var stringValue: String
    var intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }
}

extension DecodingError {
    /// The place as `items[2].name`; empty for the root.
    package var place: String {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            JSONTree.place(context.codingPath)
        case .keyNotFound(let key, let context): JSONTree.place(context.codingPath + [key])
        @unknown default: ""
        }
    }

    /// What was wrong at that place, as a part of a sentence, without the value.
    ///
    /// The texts of other decoders, such as that of an `enum`, quote it, and so are left out.
    var reason: String {
        switch self {
        case .typeMismatch(let type, let context):
            (context.underlyingError as? JSONMismatch)?.reason ?? "does not fit \(type)"
        case .valueNotFound, .keyNotFound: "is missing"
        case .dataCorrupted: "has a value that does not fit"
        @unknown default: "does not fit"
        }
    }

    /// The same for what a type's own `init(from:)` threw; its text may quote the value.
    static func reason(of error: any Error) -> String {
        (error as? DecodingError)?.reason ?? "does not fit (\(type(of: error)))"
    }
}

/// What this decoder found wrong; marks its own errors.
struct JSONMismatch: Error {
    let reason: String
}

/// The decoder of one value, which `init(from:)` gets.
struct JSONTree: Decoder {
    let value: JSONValue
    let path: JSONPath
    let readsText: Bool
    var readsLists = false
    /// What the value is where an array is wanted.
    var list: [JSONValue]?
    /// The same for the members of an object.
    var lists: [String: [JSONValue]] = [:]

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = structure else { throw mismatch("an object", type) }
        return KeyedDecodingContainer(JSONMembers<Key>(members: members, tree: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        if let list { return JSONElements(elements: list, tree: self) }
        switch structure {
        case .array(let elements): return JSONElements(elements: elements, tree: self)
        case .string where readsLists: return JSONElements(elements: [value], tree: self)
        default: throw mismatch("an array", [JSONValue].self)
        }
    }

    /// The value, or the array or object that its text stands for.
    private var structure: JSONValue {
        guard readsLists, case .string(let text) = value, let first = text.utf8.first,
            first == UInt8(ascii: "[") || first == UInt8(ascii: "{"),
            let parsed = try? JSONValue(parsing: text) as JSONValue
        else { return value }
        return parsed
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func below(_ value: JSONValue, _ key: some CodingKey) -> JSONTree {
        var tree = JSONTree(
            value: value, path: .child(of: path, key: key), readsText: readsText, readsLists: readsLists)
        if !lists.isEmpty { tree.list = lists[key.stringValue] }
        return tree
    }

    static func place(_ path: [any CodingKey]) -> String {
        var text = ""
        for key in path {
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : "." + key.stringValue
            }
        }
        return text
    }

    func mismatch(_ wanted: String, _ type: any Any.Type) -> DecodingError {
        let unfit = wanted.hasPrefix(value.kind) ? " that does not fit" : ""
        let reason = "should be \(wanted) but is \(value.kind)\(unfit)"
        return .typeMismatch(
            type,
            .init(
                codingPath: codingPath, debugDescription: reason,
                underlyingError: JSONMismatch(reason: reason)))
    }
}

extension JSONTree: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value.isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        if case .bool(let flag) = value { return flag }
        if readsText, case .string(let text) = value, let flag = Self.flag(text) { return flag }
        throw mismatch("a bool", type)
    }

    func decode(_ type: String.Type) throws -> String {
        if case .string(let text) = value { return text }
        // A key that the caller gave as a number and the URL as text is the same parameter.
        if readsText {
            switch value {
            case .int, .double, .bool: return value.text
            default: break
            }
        }
        throw mismatch("a string", type)
    }

    func decode(_ type: Double.Type) throws -> Double {
        if let number = value.doubleValue { return number }
        if readsText, case .string(let text) = value, let number = Double(text), number.isFinite {
            return number
        }
        throw mismatch("a number", type)
    }

    func decode(_ type: Float.Type) throws -> Float {
        let number = Float(try decode(Double.self))
        guard number.isFinite else { throw mismatch("a number that fits in Float", type) }
        return number
    }

    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        // A JSONValue takes the tree as it stands; every other type asks for what it needs. The commonest are taken
        // without a container. They are known to be of the type: `as?` would look it up, and that of its optional.
        switch value {
        case .int(let number) where type == Int.self:
            if let exact = Int(exactly: number) { return unsafeBitCast(exact, to: type) }
        case .string(let text) where type == String.self: return unsafeBitCast(text, to: type)
        case .bool(let flag) where type == Bool.self: return unsafeBitCast(flag, to: type)
        case .double(let number) where type == Double.self: return unsafeBitCast(number, to: type)
        default: if type == JSONValue.self { return unsafeBitCast(value, to: type) }
        }
        return FoundationJSON.isHandled(type) ? try decodeForFoundation(type) : try T(from: self)
    }

    /// Not in ``decode(_:)``: that would look the type `T?` up each time, only because it occurs there.
    @inline(never)
    private func decodeForFoundation<T: Decodable>(_ type: T.Type) throws -> T {
        if let value = try FoundationJSON.decode(type, from: self) as? T { return value }
        return try T(from: self)
    }

    private func integer<T: FixedWidthInteger & BinaryInteger>(_ type: T.Type) throws -> T {
        switch value {
        case .int(let number): if let exact = T(exactly: number) { return exact }
        case .double(let number): if let exact = T(exactly: number) { return exact }
        case .string(let text) where readsText: if let exact = T(text) { return exact }
        default: break
        }
        throw mismatch("an integer (\(type))", type)
    }

    /// The spellings of a truth value that mobile URLs use.
    static func flag(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "1": true
        case "false", "no", "0": false
        default: nil
        }
    }
}
