/// The arguments of a call.
public enum ServiceArguments: Sendable, Hashable {
    /// In the order of the method's parameters.
    case positional([JSONValue])
    /// By label; `ivar1` and `ivar2` name the first and the second.
    case labeled([String: JSONValue])
}

extension ServiceArguments {
    /// Arguments from the `args` of a message: an array, an object, or nothing.
    ///
    /// - Throws: `Failure` 422 when it is anything else.
    init(_ json: JSONValue?) throws(Failure) {
        switch json {
        case nil, .null: self = .positional([])
        case .array(let values): self = .positional(values)
        case .object(let values): self = .labeled(values)
        case let other?:
            throw .badField("args should be an array or an object but is \(other.kind)")
        }
    }
}

/// What a method is called with, and how strictly it is read.
struct ArgumentSource: Sendable {
    var positional: [JSONValue] = []
    var labeled: [String: JSONValue] = [:]
    /// Values of the program in place of `positional`: one of the parameter's type is handed over as it is.
    var native: [any Encodable & Sendable] = []
    /// What the result is to be read as, where that is known.
    var answer: (any (Decodable & SendableMetatype).Type)?
    /// Whether `"2"` may be an integer: true for what came in a URL.
    var readsText = false
    /// Whether labels that the method does not have are passed over: true for what is left of a query.
    var ignoresUnknown = false
    /// Whether a single argument that no label names takes all there is, as TheRouter promises for queries.
    var mayTakeAll = false

    /// The arguments as the caller gave them; a native one that can't be written as JSON is null.
    var arguments: ServiceArguments {
        if !native.isEmpty {
            return .positional(native.map { (try? JSONValueEncoder().encode($0)) ?? .null })
        }
        return labeled.isEmpty ? .positional(positional) : .labeled(labeled)
    }

    init<each Argument: Encodable & Sendable>(
        native arguments: repeat each Argument,
        result answer: (any (Decodable & SendableMetatype).Type)? = nil
    ) {
        for argument in repeat each arguments { native.append(argument) }
        self.answer = answer
    }

    /// Why the result of the method can't be what is expected; nil when it can, as far as that is known before it runs.
    func mistake(about method: MethodDescription, of service: String) -> Failure? {
        guard let answer else { return nil }
        let (name, result) = ("\(service).\(method.name)", method.result)
        let isVoid = result.isVoid
        if isVoid || result.isOptional, answer.takesNull { return nil }
        guard !isVoid else {
            return .badField("\(name) has no result that could be \(answer); it is called without a type")
        }
        // A whole number may be both.
        let numbers: Set<ValueSchema.Kind> = [.integer, .number]
        guard let kind = result.schema.kind, let other = ValueSchema(of: answer).kind, kind != other,
            !numbers.isSuperset(of: [kind, other])
        else { return nil }
        return .badField("the result of \(name) is \(result.type), which can't be read as \(answer)")
    }

    init(_ arguments: ServiceArguments) {
        switch arguments {
        case .positional(let values): positional = values
        case .labeled(let values): labeled = values
        }
    }
}

/// Hands the arguments of one call out, one parameter after the other.
struct ArgumentReader {
    let method: MethodName
    let source: ArgumentSource
    private var place = 0

    /// - Throws: `Failure` 422 when there are too many, or unknown labels.
    init(method: MethodName, source: ArgumentSource) throws(Failure) {
        self.method = method
        self.source = source
        let count = max(source.positional.count, source.native.count)
        guard count <= method.labels.count else {
            throw .badField("\(method.full) takes \(method.labels.count) arguments but got \(count)")
        }
        guard !source.ignoresUnknown, !source.labeled.isEmpty else { return }
        let known = Set(method.labels + ["ivar1", "ivar2"].prefix(method.labels.count))
        if let unknown = source.labeled.keys.sorted().first(where: { !known.contains($0) }) {
            let near = NearestNames.find(unknown, among: method.labels.filter { $0 != "_" }, limit: 1).first
            throw .badField(
                "\(method.full) has no argument \"\(unknown.cut(to: 64))\""
                    + (near.map { "; did you mean \"\($0)\"?" } ?? ""))
        }
    }

    mutating func next<T: Decodable>(_ type: T.Type) throws -> T {
        source.native.isEmpty ? try nextWritten(type) : try nextNative(type)
    }

    private mutating func nextWritten<T: Decodable>(_ type: T.Type) throws -> T {
        let (name, found) = try next("\(type)", isOptional: T.self is any AbsentValue.Type)
        guard let found else { return try none(type, name) }
        do {
            return try JSONValueDecoder(readsText: source.readsText).decode(type, from: found)
        } catch {
            return try decode(found, as: type, name: name, after: error)
        }
    }

    /// The next argument as the program gave it, when it has this type.
    ///
    /// Not in ``next(_:)``: that would look the type `T?` up each time, only because it occurs there.
    @inline(never)
    private mutating func nextNative<T: Decodable>(_ type: T.Type) throws -> T {
        guard source.native.indices.contains(place), place < method.labels.count,
            let value = source.native[place] as? T
        else { return try nextWritten(type) }
        place += 1
        return value
    }

    /// The next argument's name for people, and its value; nil when it is absent and may be.
    mutating func next(
        _ type: @autoclosure () -> String, isOptional: @autoclosure () -> Bool
    ) throws(Failure) -> (name: String, JSONValue?) {
        guard place < method.labels.count else { throw missing("\(place + 1)", type()) }
        let label = method.labels[place]
        let name = label == "_" ? "\(place + 1)" : label
        let found = try value(label, name)
        place += 1
        guard found != nil || isOptional() else { throw missing(name, type()) }
        return (name, found)
    }

    /// What an absent argument is, if it may be absent.
    ///
    /// Apart for the same reason.
    private func none<T>(_ type: T.Type, _ name: String) throws -> T {
        if let type = T.self as? any AbsentValue.Type, let absent = type.absent as? T { return absent }
        throw missing(name, "\(type)")
    }

    private func missing(_ name: String, _ type: String) -> Failure {
        .badField("argument \"\(name)\" of \(method.full) is missing (\(type))")
    }

    private func value(_ label: String, _ name: String) throws(Failure) -> JSONValue? {
        if source.native.indices.contains(place) {
            let value: any Encodable = source.native[place]
            do {
                return try JSONValueEncoder().encode(value)
            } catch {
                throw .badField(
                    "argument \"\(name)\" of \(method.full) can't be written as JSON: \(error.words)"
                )
            }
        }
        if source.positional.indices.contains(place) { return source.positional[place] }
        if label != "_", let value = source.labeled[label] { return value }
        if let value = source.labeled["ivar\(place + 1)"], place < 2 { return value }
        guard source.mayTakeAll, method.labels.count == 1, !source.labeled.isEmpty else { return nil }
        return .object(source.labeled)
    }

    /// What a value is that does not fit as it is; apart for the same reason.
    private func decode<T: Decodable>(
        _ found: JSONValue, as type: T.Type, name: String, after error: any Error
    ) throws -> T {
        // In a query an object can only be written as JSON text.
        if source.readsText, case .string(let text) = found, let json = try? JSONValue(parsing: text),
            let value = try? JSONValueDecoder(readsText: true).decode(type, from: json)
        {
            return value
        }
        let place = (error as? DecodingError)?.place ?? ""
        let reason = DecodingError.reason(of: error)
        let path = place.isEmpty ? name : place.hasPrefix("[") ? name + place : "\(name).\(place)"
        throw Failure.badField("argument \"\(path)\" of \(method.full) \(reason)")
    }
}

extension Decodable {
    /// Whether nothing can be read as one.
    fileprivate static var takesNull: Bool {
        (try? JSONValueDecoder().decode(self, from: .null)) != nil
    }
}
