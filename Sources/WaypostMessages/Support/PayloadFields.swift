package import Waypost

/// A payload, or a part of one, whose fields are named once for both directions: what is written is what is read.
///
/// Not for commands, replies and events, of which thousands a second are written straight into bytes.
package protocol Payload: Sendable {
    /// With what stands for fields that do not come.
    init()
    /// Names each field once, in the order in which they are written.
    mutating func describe(_ fields: inout PayloadFields)
}

extension Payload {
    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ fields: Fields) throws(Failure) {
        self.init()
        var fields = PayloadFields(.reading, fields)
        describe(&fields)
        if let failure = fields.failure { throw failure }
    }

    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        // What has no fields is not one that has none set.
        guard json.objectValue != nil else { throw Failure(.badField, "is no object") }
        try self.init(Fields(of: json))
    }

    /// The payload's bytes.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        write(to: &json)
        json.endObject()
        return json.bytes
    }

    /// Writes the fields into an object that was begun.
    func write(to json: inout JSONWriter) {
        var copy = self
        var fields = PayloadFields(.writing)
        swap(&fields.json, &json)
        copy.describe(&fields)
        swap(&fields.json, &json)
    }

    /// The names of all fields.
    static var fieldNames: [String] {
        var blank = Self()
        var fields = PayloadFields(.naming)
        blank.describe(&fields)
        return fields.names
    }

    /// The payload as one value, for a place in another.
    package var json: JSONValue {
        var copy = self
        var fields = PayloadFields(.building)
        copy.describe(&fields)
        return .object(fields.members)
    }
}

/// A value of a field.
package protocol FieldValue: Equatable, Sendable {
    /// What it is, for a refusal: `a string`.
    static var fieldKind: String { get }
    /// Nil when it is something else.
    init?(field: JSONValue)
    var field: JSONValue { get }
}

/// The fields of one payload while it is read or written.
///
/// Of what is wrong with them the first is kept.
package struct PayloadFields: ~Copyable {
    fileprivate enum Direction { case reading, naming, writing, building }

    private let direction: Direction
    private let source: Fields
    fileprivate var json = JSONWriter(reserving: 0)
    fileprivate var members: [String: JSONValue] = [:]
    fileprivate private(set) var names: [String] = []
    fileprivate private(set) var failure: Failure?

    fileprivate init(_ direction: Direction, _ source: Fields = Fields(of: .null)) {
        (self.direction, self.source) = (direction, source)
    }

    /// Whether the fields are set; else they are written.
    package var isReading: Bool { direction == .reading || direction == .naming }

    /// What came as a field; nil also when it is written.
    subscript(_ name: StaticString) -> JSONValue? { source[name.description] }

    /// Refuses what is read.
    mutating func refuse(_ detail: String) { refuse(Failure(.badField, detail)) }

    /// Refuses what is read, for what another reader found.
    mutating func refuse(_ failure: Failure) { self.failure = self.failure ?? failure }

    // MARK: Values

    /// A field that must be there.
    mutating func required<Value: FieldValue>(
        _ name: StaticString, _ value: inout Value, in range: ClosedRange<Int64>? = nil
    ) {
        guard isReading else { return put(name, value.field) }
        guard let found = read(name, Value.self, range) else { return refuse("\(name) is missing") }
        value = found
    }

    /// A field that stays as it is when it does not come.
    ///
    /// - Parameters:
    ///   - plain: the value that is not written.
    ///   - range: what a number must lie in, or is moved into.
    package mutating func optional<Value: FieldValue>(
        _ name: StaticString, _ value: inout Value, unless plain: Value? = nil,
        in range: ClosedRange<Int64>? = nil, clamps: Bool = false
    ) {
        if isReading {
            value = read(name, Value.self, range, clamps: clamps) ?? value
        } else if value != plain {
            put(name, value.field)
        }
    }

    /// A field that may be nil, and then is not written, or null.
    package mutating func optional<Value: FieldValue>(
        _ name: StaticString, _ value: inout Value?, orNull: Bool = false,
        in range: ClosedRange<Int64>? = nil, clamps: Bool = false
    ) {
        if isReading {
            value = read(name, Value.self, range, clamps: clamps)
        } else if let field = value?.field ?? (orNull ? .null : nil) {
            put(name, field)
        }
    }

    /// One of some words; one that is not known leaves the value as it is.
    mutating func word<Word: RawRepresentable<String>>(
        _ name: StaticString, _ value: inout Word, isRequired: Bool = true
    ) {
        var text = isReading ? nil : Optional(value.rawValue)
        optional(name, &text)
        if isRequired, text == nil { refuse("\(name) is missing") }
        if let word = text.flatMap({ Word(rawValue: $0) }) { value = word }
    }

    /// A code, by its number; ``name(of:)`` is the other half.
    mutating func code(_ code: inout Code) {
        var number = code.number
        required("code", &number)
        code = Code(number: number, name: code.name)
    }

    /// The name of a code.
    package mutating func name(of code: inout Code) {
        var name = code.name
        required("name", &name)
        code = Code(number: code.number, name: name)
    }

    /// What is written for others and follows from the rest.
    mutating func written(_ name: StaticString, _ value: @autoclosure () -> JSONValue) {
        if !isReading { put(name, value()) }
    }

    /// All other fields, as one object.
    mutating func others(_ object: inout JSONValue, than names: Set<String>) {
        if isReading {
            object = .object((source.json.objectValue ?? [:]).filter { !names.contains($0.key) })
        } else if direction == .building {
            members.merge(object.objectValue ?? [:]) { own, _ in own }
        } else {
            for (name, value) in (object.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
                json.member(named: name, value)
            }
        }
    }

    // MARK: Parts

    /// A part that must be there.
    mutating func required<Part: Payload>(_ name: StaticString, _ part: inout Part) {
        var found = isReading ? nil : Optional(part)
        optional(name, &found)
        if let found { part = found } else { refuse("\(name) is missing") }
    }

    /// A part that may be nil, and then is not written, or null.
    ///
    /// - Parameter isLenient: whether one that can't be read is nil.
    package mutating func optional<Part: Payload>(
        _ name: StaticString, _ part: inout Part?, orNull: Bool = false, isLenient: Bool = false
    ) {
        if isReading {
            part = take(name).flatMap { isLenient ? try? Part($0) : self.part(name, $0) }
        } else if let part {
            put(name, part)
        } else if orNull {
            put(name, JSONValue.null)
        }
    }

    /// Parts in their order.
    ///
    /// - Parameter whenEmpty: whether it is written when there is none.
    mutating func list<Part: Payload>(
        _ name: StaticString, _ parts: inout [Part], whenEmpty: Bool = true
    ) {
        if isReading {
            if let list = take(name)?.arrayValue { parts = list.compactMap { part(name, $0) } }
        } else if direction == .building {
            if whenEmpty || !parts.isEmpty { put(name, .array(parts.map(\.json))) }
        } else if whenEmpty || !parts.isEmpty {
            json.key(name)
            json.beginArray()
            for part in parts { write(part) }
            json.endArray()
        }
    }

    // MARK: One value

    private mutating func take(_ name: StaticString) -> JSONValue? {
        if direction == .naming { names.append(name.description) }
        return self[name]
    }

    private mutating func read<Value: FieldValue>(
        _ name: StaticString, _: Value.Type, _ range: ClosedRange<Int64>?, clamps: Bool = false
    ) -> Value? {
        guard var found = take(name) else { return nil }
        if let range, case .int(let number) = found, !range.contains(number) {
            guard clamps else {
                refuse("\(name) must be \(range.lowerBound) to \(range.upperBound); found \(number)")
                return nil
            }
            found = .int(min(max(number, range.lowerBound), range.upperBound))
        }
        if let value = Value(field: found) { return value }
        refuse(source.mismatch(name.description, Value.fieldKind, found).detail)
        return nil
    }

    private mutating func part<Part: Payload>(_ name: StaticString, _ json: JSONValue) -> Part? {
        do throws(Failure) {
            return try Part(json)
        } catch {
            refuse("\(name).\(error.detail)")
            return nil
        }
    }

    private mutating func put(_ name: StaticString, _ value: JSONValue) {
        if direction == .building { members[name.description] = value } else { json.member(name, value) }
    }

    private mutating func put(_ name: StaticString, _ part: some Payload) {
        guard direction == .writing else { return put(name, part.json) }
        json.key(name)
        write(part)
    }

    private mutating func write(_ part: some Payload) {
        var part = part
        json.beginObject()
        part.describe(&self)
        json.endObject()
    }
}

extension String: FieldValue {
    package static var fieldKind: String { "a string" }
    package var field: JSONValue { .string(self) }
    package init?(field: JSONValue) {
        if case .string(let text) = field { self = text } else { return nil }
    }
}

/// As it is read it lies within ``Fields/largestInteger``, so that no sum of two ends the reader.
extension Int64: FieldValue {
    package static var fieldKind: String { "an integer" }
    package var field: JSONValue { .int(self) }
    package init?(field: JSONValue) {
        if case .int(let number) = field { self = Fields.bounded(number) } else { return nil }
    }
}

extension Int: FieldValue {
    package static var fieldKind: String { Int64.fieldKind }
    package var field: JSONValue { .int(Int64(self)) }
    package init?(field: JSONValue) {
        if let number = Int64(field: field) { self.init(clamping: number) } else { return nil }
    }
}

extension Bool: FieldValue {
    package static var fieldKind: String { "true or false" }
    package var field: JSONValue { .bool(self) }
    package init?(field: JSONValue) {
        if case .bool(let flag) = field { self = flag } else { return nil }
    }
}

extension JSONValue: FieldValue {
    package static var fieldKind: String { "a value" }
    package var field: JSONValue { self }
    package init?(field: JSONValue) { self = field }
}

extension Dictionary: FieldValue where Key == String, Value == JSONValue {
    package static var fieldKind: String { "an object" }
    package var field: JSONValue { .object(self) }
    package init?(field: JSONValue) {
        if case .object(let members) = field { self = members } else { return nil }
    }
}

/// Texts; elements of another kind are left out.
extension Array: FieldValue where Element == String {
    package static var fieldKind: String { "an array" }
    package var field: JSONValue { .array(map(JSONValue.string)) }
    package init?(field: JSONValue) { self = (field.arrayValue ?? []).compactMap(\.stringValue) }
}
