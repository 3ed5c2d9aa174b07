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
        case nil: refuse("routerType", "is missing")
        case let other?:
            refuse("routerType", "is \(other.text.cut(to: 64)); it must be 1, 2, 3 or 4")
        }
        return nil
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
            if !kind.isRedirect {
                refuse("except", "is only allowed in a redirect")
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
