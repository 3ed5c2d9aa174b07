/// Reads the fields of one entry.
struct RelocationEntryReader {
    private let members: [String: JSONValue]
    private let index: Int
    /// What is refused.
    private(set) var errors: [RelocationError] = []

    init(_ members: [String: JSONValue], index: Int) {
        self.members = members
        self.index = index
    }

    /// Nil when a part of it is refused.
    mutating func entry() -> RelocationEntry? {
        let kind = kind()
        let params = params()
        // What `except` may stand beside is known only then.
        let except = kind.map { self.except($0) }
        guard let kind, let except, errors.isEmpty else { return nil }
        // A condition is read when a map is put in force, for what is wrong in it refuses no document.
        let condition = members["when"].flatMap { $0.isNull ? nil : $0 }
        return RelocationEntry(kind, params: params, except: except, when: condition)
    }

    private mutating func kind() -> RelocationEntry.Kind? {
        let value = members["routerType"]
        switch value {
        case 1, 4:
            let origin = origin()
            let target = text("targetPath", isRequired: value == 1)
            guard let origin, errors.isEmpty else { return nil }
            return value == 4
                ? .reset(origin: origin, target: target) : .replace(origin: origin, target: target ?? "")
        case 2:
            let path = text("path")
            let name = text("className")
            guard let path, let name else { return nil }
            return .add(path: path, className: name)
        case 3: return text("path").map { .delete(path: $0) }
        case .string(let name) where Self.mayBeName(name): return named(name)
        case nil: refuse("routerType", "is missing")
        case let other?:
            refuse(
                "routerType",
                "is \(other.text.cut(to: 64)); it must be 1, 2, 3 or 4, or a name: \(Self.names)")
        }
        return nil
    }

    // MARK: Kinds with names

    /// The longest sentence of an entry, and the longest name of a service, a method or a gate, in bytes.
    private static let maximumBytes = 500
    private static let names = RelocationEntry.namedKinds.joined(separator: ", ")

    /// Whether a newer version may have a kind of that name.
    private static func mayBeName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-")
            }
    }

    private mutating func named(_ name: String) -> RelocationEntry.Kind? {
        guard RelocationEntry.namedKinds.contains(name) else {
            errors.append(
                RelocationError(
                    .unknownKind, index: index, field: "routerType",
                    detail:
                        "routerType \(name) is not known in this version, which knows 1 to 4, \(Self.names)"))
            return nil
        }
        if members["params"]?.isNull == false {
            refuse("params", "is only allowed in a redirect or a new path")
        }
        switch name {
        case "answer":
            let method = method()
            if members["value"] == nil { refuse("value", "is missing") }
            return method.map { .answer($0, with: members["value"] ?? .null) }
        case "replace":
            let method = method()
            return method.flatMap { method in by(method).map { .replaceMethod(method, by: $0) } }
        case "gate":
            let (pages, gate, reason) = (
                short("path"), short("gate", isRequired: false), short("reason", isRequired: false)
            )
            if (gate == nil) == (reason == nil) { refuse("gate", "must be there, or reason, and not both") }
            guard let pages else { return nil }
            return gate.map { .gate(pages: pages, through: $0) }
                ?? .refuse(pages: pages, reason: reason ?? "")
        default:
            guard let subject = subject() else { return nil }
            guard name == "off" else { return .on(subject) }
            let (reason, code) = (short("reason", isRequired: false), code())
            return .off(subject, reason: reason, code: code)
        }
    }

    /// The pages, the service or the method that is switched off or on.
    private mutating func subject() -> RelocationEntry.Subject? {
        let (path, service) = (short("path", isRequired: false), short("service", isRequired: false))
        let method = short("method", isRequired: false)
        switch (path, service, method) {
        case (let path?, nil, nil): return .pages(path)
        case (nil, let service?, nil): return .service(service)
        case (nil, let service?, let method?): return .method(.init(service, method))
        default:
            if errors.isEmpty { refuse("path", "must be there, or service, perhaps with method") }
            return nil
        }
    }

    private mutating func method() -> RelocationEntry.Method? {
        let (service, method) = (short("service"), short("method"))
        if let service, let method { return .init(service, method) }
        return nil
    }

    /// The method that replaces another, perhaps one of the same service.
    private mutating func by(_ method: RelocationEntry.Method) -> RelocationEntry.Method? {
        guard case .object(let by) = members["by"] else {
            refuse("by", "must be an object with method, and with service for one of another")
            return nil
        }
        var reader = RelocationEntryReader(by, index: index)
        let (service, name) = (reader.short("service", isRequired: false), reader.short("method"))
        for error in reader.errors { refuse("by", "is not right: \(error.detail)") }
        return name.map { .init(service ?? method.service, $0) }
    }

    /// The code of the application that callers get; 503 `SWITCHED_OFF` when there is none.
    private mutating func code() -> Code {
        let name = short("name", isRequired: false)
        switch (members["code"], name) {
        case (nil, nil), (.null, nil): break
        case (.int(let number)?, let name?):
            if let code = Code(ofApplication: number, name) { return code }
            fallthrough
        default: refuse("code", "must be 1000 to 9999, with a name like SHOP_CLOSED")
        }
        return .switchedOff
    }

    /// A text that callers see, or a name.
    private mutating func short(_ field: String, isRequired: Bool = true) -> String? {
        guard let text = text(field, isRequired: isRequired) else { return nil }
        let maximum = field == "path" ? RoutePattern.maximumBytes : Self.maximumBytes
        if text.utf8.count > maximum { refuse(field, "has more than \(maximum) bytes") }
        return text
    }

    private mutating func origin() -> String? {
        let theirs = text("orginPath", isRequired: false)
        guard errors.isEmpty else { return nil }
        let alias = text("originPath", isRequired: false)
        if let theirs, let alias, theirs != alias { refuse("originPath", "differs from orginPath") }
        let origin = theirs ?? alias
        if origin == nil, errors.isEmpty { refuse("orginPath", "is missing") }
        return origin
    }

    /// A field that is a text.
    private mutating func text(_ field: String, isRequired: Bool = true) -> String? {
        switch members[field] {
        case nil, .null: if isRequired { refuse(field, "is missing") }
        case .string(let text):
            if text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) { return text }
            refuse(field, "is empty")
        case let other?: refuse(field, "is \(other.kind); it must be a string")
        }
        return nil
    }

    private mutating func params() -> [String: JSONValue] {
        switch members["params"] {
        case nil, .null: break
        case .object(let params): return params
        case let other?: refuse("params", "is \(other.kind); it must be an object")
        }
        return [:]
    }

    private mutating func except(_ kind: RelocationEntry.Kind) -> [String] {
        switch members["except"] {
        case nil, .null: break
        case .array(let elements):
            let patterns = elements.compactMap(\.stringValue)
            if !kind.takesExceptions {
                refuse("except", "is only allowed in a redirect, for pages, and for a whole service")
            } else if elements.count > RelocationEntry.maximumExceptions {
                refuse("except", "has more than \(RelocationEntry.maximumExceptions) patterns")
            } else if let other = elements.first(where: { $0.stringValue == nil }) {
                refuse("except", "holds \(other.kind); it must hold strings")
            }
            return patterns
        case let other?: refuse("except", "is \(other.kind); it must be an array")
        }
        return []
    }

    private mutating func refuse(_ field: String, _ reason: String) {
        errors.append(
            RelocationError(.badField, index: index, field: field, detail: "\(field) \(reason)"))
    }
}

extension RelocationEntry.Kind {
    fileprivate var takesExceptions: Bool {
        switch self {
        case .replace, .reset, .gate, .refuse, .off(.pages, _, _), .off(.service, _, _), .on(.pages),
            .on(.service):
            true
        case .add, .delete, .off(.method, _, _), .on(.method), .answer, .replaceMethod: false
        }
    }
}
