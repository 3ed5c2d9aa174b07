/// Reads the fields of one entry.
struct RelocationEntryReader {
    let members: [String: JSONValue]
    let index: Int

    init(_ json: JSONValue, index: Int) throws(RelocationError) {
        guard case .object(let members) = json else {
            throw RelocationError(
                .badField, index: index, detail: "the entry is \(json.kind); it must be an object")
        }
        self.members = members
        self.index = index
    }

    /// What the entry does; nil when what it needs is refused.
    func kind(_ refusals: inout RelocationRefusals) throws(RelocationError) -> RelocationEntry.Kind? {
        func read<Value>(
            _ body: () throws(RelocationError) -> Value
        ) throws(RelocationError) -> Value? { try refusals.attempt(body) }
        guard let type = try read(routerType) else { return nil }
        switch type {
        case 1, 4:
            let origin = try read(self.origin)
            let target = try read { () throws(RelocationError) in
                type == 1 ? try required("targetPath") : try optional("targetPath")
            }
            guard let origin, let target else { return nil }
            return type == 1
                ? .replace(origin: origin, target: target ?? "") : .reset(origin: origin, target: target)
        case 2:
            let path = try read { () throws(RelocationError) in try required("path") }
            let name = try read { () throws(RelocationError) in try required("className") }
            guard let path, let name else { return nil }
            return .add(path: path, className: name)
        default:
            return try read { () throws(RelocationError) in .delete(path: try required("path")) }
        }
    }

    private func routerType() throws(RelocationError) -> Int64 {
        guard let value = members["routerType"] else { throw bad("routerType", "is missing") }
        guard case .int(let type) = value, (1...4).contains(type) else {
            throw bad("routerType", "is \(value.text.cut(to: 64)); it must be 1, 2, 3 or 4")
        }
        return type
    }

    private func origin() throws(RelocationError) -> String {
        let theirs = try optional("orginPath")
        let alias = try optional("originPath")
        if let theirs, let alias, theirs != alias {
            throw bad("originPath", "differs from orginPath")
        }
        guard let origin = theirs ?? alias else { throw bad("orginPath", "is missing") }
        return origin
    }

    private func required(_ field: String) throws(RelocationError) -> String {
        guard let text = try optional(field) else { throw bad(field, "is missing") }
        return text
    }

    private func optional(_ field: String) throws(RelocationError) -> String? {
        switch members[field] {
        case nil, .null: return nil
        case .string(let text):
            guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
                throw bad(field, "is empty")
            }
            return text
        case let other?: throw bad(field, "is \(other.kind); it must be a string")
        }
    }

    func params() throws(RelocationError) -> [String: JSONValue] {
        switch members["params"] {
        case nil, .null: return [:]
        case .object(let params): return params
        case let other?: throw bad("params", "is \(other.kind); it must be an object")
        }
    }

    /// Read when a map is put in force, for what is wrong in it refuses no document.
    var condition: JSONValue? {
        members["when"].flatMap { $0.isNull ? nil : $0 }
    }

    func except(isRedirect: Bool) throws(RelocationError) -> [String] {
        switch members["except"] {
        case nil, .null: return []
        case .array(let elements):
            guard isRedirect else { throw bad("except", "is only allowed in a redirect") }
            guard elements.count <= RelocationEntry.maximumExceptions else {
                throw bad("except", "has more than \(RelocationEntry.maximumExceptions) patterns")
            }
            var patterns: [String] = []
            for element in elements {
                guard case .string(let text) = element else {
                    throw bad("except", "holds \(element.kind); it must hold strings")
                }
                patterns.append(text)
            }
            return patterns
        case let other?: throw bad("except", "is \(other.kind); it must be an array")
        }
    }

    private func bad(_ field: String, _ reason: String) -> RelocationError {
        RelocationError(.badField, index: index, field: field, detail: "\(field) \(reason)")
    }
}
