public import Waypost

extension RouteDescription {
    /// The most parameters of a route that are read.
    private static let maximumParameters = 256

    /// Reads an exported list: TheRouter's array, with `class` or `className`, priorities as numbers or digits, and
    /// `params`, which are read as defaults.
    ///
    /// - Throws: ``RouteImportError`` naming the entry and the field.
    public static func list(_ json: JSONValue) throws(RouteImportError) -> [RouteDescription] {
        guard case .array(let elements) = json else {
            throw RouteImportError(
                index: nil, field: nil, detail: "routes should be an array but are \(json.kind)")
        }
        var routes: [RouteDescription] = []
        for (index, element) in elements.enumerated() {
            routes.append(try RouteDescription(element, index: index))
        }
        return routes
    }

    /// The fields of a route in a list that are read, or say nothing about what it takes.
    private static let fields: Set<String> = [
        "path", "class", "className", "priority", "kind", "takesDeeper", "idempotent", "redirects",
        "converters",
        "metadata", "defaults", "params", "parameters", "description", "result",
    ]

    /// The fields of a route in a list that are passed over; TheRouter's `action` is one.
    package static func unreadFields(of json: JSONValue) -> [String] {
        let members = json.objectValue ?? [:]
        var names = members.filter { !fields.contains($0.key) && !$0.value.isNull }.keys.sorted()
        if let name = members["className"]?.stringValue, let other = members["class"]?.stringValue,
            name != other
        {
            names.append("className")
        }
        return names
    }

    private init(_ json: JSONValue, index: Int) throws(RouteImportError) {
        guard case .object(let members) = json else {
            throw RouteImportError(
                index: index, field: nil, detail: "a route should be an object but is \(json.kind)")
        }
        let reader = Members(members: members, index: index)
        guard let path = try reader.text("path"), !path.isEmpty else {
            throw RouteImportError(index: index, field: "path", detail: "path is missing")
        }
        let className = try reader.text("class")
        let alias = try reader.text("className")
        self.init(
            path: path, className: className ?? alias ?? "", priority: try reader.priority(),
            kind: try reader.kind(), takesDeeper: try reader.flag("takesDeeper"),
            idempotent: try reader.flag("idempotent"), redirects: try reader.flag("redirects"),
            converters: try reader.names("converters"), metadata: try reader.object("metadata"),
            defaults: try reader.object("defaults").merging(try reader.object("params")) { own, _ in own },
            parameters: members["parameters"]?.arrayValue?.prefix(Self.maximumParameters)
                .compactMap(RouteParameter.init) ?? [])
        answer = members["result"].flatMap { $0.objectValue == nil ? nil : MethodDescription.Value($0) }
        // TheRouter's lists have none; one that has it is an export of ours.
        isWhole.value = members["kind"] != nil
    }

    /// The members of one route.
    private struct Members {
        var members: [String: JSONValue]
        var index: Int

        func error(_ field: String, _ detail: String) -> RouteImportError {
            RouteImportError(index: index, field: field, detail: detail)
        }

        /// - Parameter kind: what it should be, for people.
        func value<Value>(
            _ field: String, _ kind: String, _ read: (JSONValue) -> Value?
        ) throws(RouteImportError) -> Value? {
            guard let json = members[field], json != .null else { return nil }
            guard let value = read(json) else {
                throw error(field, "\(field) should be \(kind) but is \(json.kind)")
            }
            return value
        }

        func text(_ field: String) throws(RouteImportError) -> String? {
            try value(field, "a string", \.stringValue)
        }

        func flag(_ field: String) throws(RouteImportError) -> Bool {
            try value(field, "a bool") { if case .bool(let flag) = $0 { flag } else { nil } } ?? false
        }

        func object(_ field: String) throws(RouteImportError) -> [String: JSONValue] {
            try value(field, "an object", \.objectValue) ?? [:]
        }

        func kind() throws(RouteImportError) -> RouteKind {
            guard let name = try text("kind") else { return .page }
            guard let kind = RouteKind(rawValue: name) else {
                throw error("kind", "kind \(name.cut(to: 64)) is unknown")
            }
            return kind
        }

        func priority() throws(RouteImportError) -> Int {
            switch members["priority"] {
            case nil, .null: return 0
            case .int(let number): return Int(number)
            case .string(let digits) where Int(digits) != nil: return Int(digits) ?? 0
            case let other?:
                throw error("priority", "priority should be an integer but is \(other.text.cut(to: 64))")
            }
        }

        func names(_ field: String) throws(RouteImportError) -> [String] {
            var names: [String] = []
            for name in members[field]?.arrayValue ?? [] {
                guard let text = name.stringValue else {
                    throw error(field, "a converter should be a name but is \(name.kind)")
                }
                names.append(text)
            }
            return names
        }
    }
}

/// Why an exported list of routes can't be read.
public struct RouteImportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The entry's place, from 0; texts count from 1.
    public var index: Int?
    /// The entry's field.
    public var field: String?
    /// What was found.
    public var detail: String

    /// Place and sentence.
    public var description: String { (index.map { "route \($0 + 1): " } ?? "") + detail }
}
