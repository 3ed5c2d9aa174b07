/// Reads the fields of one entry.
struct RelocationEntryReader {
    let members: [String: JSONValue]
    let index: Int

    init(_ json: JSONValue, index: Int) throws(RelocationError) {
        guard case .object(let members) = json else {
            throw RelocationError(
                .badField, index: index, detail: "an entry should be an object but is \(json.kind)")
        }
        self.members = members
        self.index = index
    }

    func routerType() throws(RelocationError) -> Int64 {
        guard let value = members["routerType"] else { throw bad("routerType", "is missing") }
        guard case .int(let type) = value, (1...4).contains(type) else {
            throw bad(
                "routerType",
                "should be an integer from 1 to 4 but is \(value.kind), \(value.text.cut(to: 64))")
        }
        return type
    }

    func origin() throws(RelocationError) -> String {
        let theirs = try optional("orginPath")
        let alias = try optional("originPath")
        if let theirs, let alias, theirs != alias {
            throw bad("originPath", "differs from orginPath")
        }
        guard let origin = theirs ?? alias else { throw bad("orginPath", "is missing") }
        return origin
    }

    func required(_ field: String) throws(RelocationError) -> String {
        guard let text = try optional(field) else { throw bad(field, "is missing") }
        return text
    }

    func optional(_ field: String) throws(RelocationError) -> String? {
        switch members[field] {
        case nil, .null: return nil
        case .string(let text):
            guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
                throw bad(field, "is empty")
            }
            return text
        case let other?: throw bad(field, "should be a string but is \(other.kind)")
        }
    }

    func params() throws(RelocationError) -> [String: JSONValue] {
        switch members["params"] {
        case nil, .null: return [:]
        case .object(let params): return params
        case let other?: throw bad("params", "should be an object but is \(other.kind)")
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
            guard isRedirect else { throw bad("except", "belongs to a redirect") }
            guard elements.count <= RelocationEntry.maximumExceptions else {
                throw bad("except", "has more than \(RelocationEntry.maximumExceptions) patterns")
            }
            var patterns: [String] = []
            for element in elements {
                guard case .string(let text) = element else {
                    throw bad("except", "should hold strings but holds \(element.kind)")
                }
                patterns.append(text)
            }
            return patterns
        case let other?: throw bad("except", "should be an array but is \(other.kind)")
        }
    }

    private func bad(_ field: String, _ reason: String) -> RelocationError {
        RelocationError(.badField, index: index, field: field, detail: "\(field) \(reason)")
    }
}
