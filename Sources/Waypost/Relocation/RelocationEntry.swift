/// One entry of a relocation map: TheRouter's dictionary.
public struct RelocationEntry: Sendable, Hashable {
    /// What the entry does.
    public enum Kind: Sendable, Hashable {
        /// `routerType` 1: opening the origin opens the target.
        case replace(origin: String, target: String)
        /// `routerType` 2: a new path for a destination known by that name.
        case add(path: String, className: String)
        /// `routerType` 3: that exact pattern no longer opens.
        case delete(path: String)
        /// `routerType` 4: removes the origin's redirect; with another target it acts as a replace.
        case reset(origin: String, target: String?)
    }

    /// What the entry does.
    public var kind: Kind
    /// Parameters that the entry adds to an open.
    public var params: [String: JSONValue]

    /// An entry by its parts.
    public init(_ kind: Kind, params: [String: JSONValue] = [:]) {
        self.kind = kind
        self.params = params
    }

    /// Reads one entry; both TheRouter's spelling `orginPath` and `originPath` are accepted.
    ///
    /// - Parameters:
    ///   - json: The entry.
    ///   - index: Its place in its document, for the error.
    /// - Throws: `RelocationError` 422 naming index and field.
    package init(_ json: JSONValue, index: Int = 0) throws(RelocationError) {
        let reader = try RelocationEntryReader(json, index: index)
        switch try reader.routerType() {
        case 1: kind = .replace(origin: try reader.origin(), target: try reader.required("targetPath"))
        case 2: kind = .add(path: try reader.required("path"), className: try reader.required("className"))
        case 3: kind = .delete(path: try reader.required("path"))
        default: kind = .reset(origin: try reader.origin(), target: try reader.optional("targetPath"))
        }
        params = try reader.params()
    }

    /// The entry with TheRouter's keys, `orginPath` in its spelling.
    package var json: JSONValue {
        var members: [String: JSONValue]
        switch kind {
        case .replace(let origin, let target):
            members = ["routerType": 1, "orginPath": .string(origin), "targetPath": .string(target)]
        case .add(let path, let className):
            members = ["routerType": 2, "path": .string(path), "className": .string(className)]
        case .delete(let path): members = ["routerType": 3, "path": .string(path)]
        case .reset(let origin, let target):
            members = ["routerType": 4, "orginPath": .string(origin)]
            if let target { members["targetPath"] = .string(target) }
        }
        if !params.isEmpty { members["params"] = .object(params) }
        return .object(members)
    }

    /// Reads the entries of one document: an array, or one entry alone.
    ///
    /// - Throws: `RelocationError`: 413 for more than `maximum` entries, 422 for a bad entry, for an origin or an
    ///   added path that occurs twice, for a redirect of a subtree on one side only.
    public static func list(
        _ json: JSONValue, maximum: Int = 2000
    ) throws(RelocationError) -> [RelocationEntry] {
        let elements: [JSONValue]
        switch json {
        case .array(let array): elements = array
        case .object: elements = [json]
        default:
            throw RelocationError(
                .badField, field: "entries", detail: "entries should be an array but is \(json.kind)")
        }
        guard elements.count <= maximum else {
            throw RelocationError(.tooLarge, detail: "\(elements.count) entries are more than \(maximum)")
        }
        var entries: [RelocationEntry] = []
        entries.reserveCapacity(elements.count)
        var origins: [RelocationPath.Key: Int] = [:]
        var paths: [RelocationPath.Key: Int] = [:]
        for (index, element) in elements.enumerated() {
            let entry = try RelocationEntry(element, index: index)
            switch entry.kind {
            case .replace(let origin, _), .reset(let origin, _):
                let redirect = try RelocationRedirect(entry, index: index)
                let key: RelocationPath.Key
                if let redirect {
                    key = redirect.origin.key
                } else {
                    key = try RelocationPath(origin, index: index, field: "orginPath").key
                }
                if let earlier = origins.updateValue(index, forKey: key) {
                    throw RelocationError(
                        .badField, index: index, field: "orginPath",
                        detail: "\(RouteURL.withoutValues(origin)) is the origin of entry \(earlier) already")
                }
            case .add(let path, _):
                if let earlier = paths.updateValue(index, forKey: RelocationPath.Key(of: path)) {
                    throw RelocationError(
                        .badField, index: index, field: "path",
                        detail: "\(path) is added by entry \(earlier) already")
                }
            case .delete: break
            }
            entries.append(entry)
        }
        return entries
    }
}

/// Reads the fields of one entry.
private struct RelocationEntryReader {
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
                "should be an integer from 1 to 4 but is \(value.kind), \(value.text.prefix(64))")
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

    private func bad(_ field: String, _ reason: String) -> RelocationError {
        RelocationError(.badField, index: index, field: field, detail: "\(field) \(reason)")
    }
}
