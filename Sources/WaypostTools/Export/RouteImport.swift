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
        "metadata", "defaults", "params", "parameters", "description",
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
        func text(_ field: String) throws(RouteImportError) -> String? {
            switch members[field] {
            case nil, .null: return nil
            case .string(let text): return text
            case let other?:
                throw RouteImportError(
                    index: index, field: field, detail: "\(field) should be a string but is \(other.kind)")
            }
        }
        guard let path = try text("path"), !path.isEmpty else {
            throw RouteImportError(index: index, field: "path", detail: "path is missing")
        }
        let className = try text("class")
        let alias = try text("className")
        var kind = RouteKind.page
        if let name = try text("kind") {
            guard let known = RouteKind(rawValue: name) else {
                throw RouteImportError(
                    index: index, field: "kind", detail: "kind \(name.cut(to: 64)) is unknown")
            }
            kind = known
        }
        var priority = 0
        switch members["priority"] {
        case nil, .null: break
        case .int(let number): priority = Int(number)
        case .string(let digits) where Int(digits) != nil: priority = Int(digits) ?? 0
        case let other?:
            throw RouteImportError(
                index: index, field: "priority",
                detail: "priority should be an integer but is \(other.text.cut(to: 64))")
        }
        func flag(_ field: String) throws(RouteImportError) -> Bool {
            switch members[field] {
            case nil, .null: return false
            case .bool(let flag): return flag
            case let other?:
                throw RouteImportError(
                    index: index, field: field, detail: "\(field) should be a bool but is \(other.kind)")
            }
        }
        func object(_ field: String) throws(RouteImportError) -> [String: JSONValue] {
            switch members[field] {
            case nil, .null: return [:]
            case .object(let values): return values
            case let other?:
                throw RouteImportError(
                    index: index, field: field, detail: "\(field) should be an object but is \(other.kind)")
            }
        }
        let defaults = try object("defaults").merging(try object("params")) { own, _ in own }
        var converters: [String] = []
        for name in members["converters"]?.arrayValue ?? [] {
            guard let name = name.stringValue else {
                throw RouteImportError(
                    index: index, field: "converters",
                    detail: "a converter should be a name but is \(name.kind)")
            }
            converters.append(name)
        }
        self.init(
            path: path, className: className ?? alias ?? "", priority: priority, kind: kind,
            takesDeeper: try flag("takesDeeper"), idempotent: try flag("idempotent"),
            redirects: try flag("redirects"), converters: converters, metadata: try object("metadata"),
            defaults: defaults,
            parameters: members["parameters"]?.arrayValue?.prefix(Self.maximumParameters)
                .compactMap(RouteParameter.init) ?? [])
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
