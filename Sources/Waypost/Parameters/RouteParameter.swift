/// A parameter of a route: what a caller has to know.
public struct RouteParameter: Sendable, Hashable {
    /// The name: a placeholder of the pattern, or a key of the query or of the caller's parameters.
    public var name: String
    /// What it may be.
    package var schema: ValueSchema
    /// Whether an open without it fails.
    public var isRequired: Bool
    /// What it is for, one sentence; nil when the author says nothing.
    public var summary: String?
    /// Whether it is a placeholder of the path; the pattern says it.
    package internal(set) var isInPath = false

    /// A parameter by its parts.
    public init(
        _ name: String, _ schema: ValueSchema = .any, isRequired: Bool = false, summary: String? = nil
    ) {
        self.name = name
        self.schema = schema
        self.isRequired = isRequired
        self.summary = summary
    }

    /// A parameter that a Swift type reads.
    ///
    ///     RouteParameter("page", as: Int?.self)
    public init<T: Decodable>(_ name: String, as type: T.Type, summary: String? = nil) {
        self.init(
            name, ValueSchema(of: type), isRequired: !ValueSchema.isOptional(type), summary: summary)
    }

    /// `{"name","in","required","type",…}`, as OpenAPI and JSON Schema call them.
    package var json: JSONValue {
        var members = schema.members
        members["name"] = .string(name)
        members["in"] = isInPath ? "path" : "query"
        if isRequired { members["required"] = true }
        members["description"] = summary.map { .string($0) }
        return .object(members)
    }

    /// Reads an exported parameter; nil when it has no name.
    package init?(_ json: JSONValue) {
        guard let members = json.objectValue, let name = members["name"]?.stringValue else { return nil }
        self.init(
            name, ValueSchema(members), isRequired: members["required"] == true,
            summary: members["description"]?.stringValue)
        isInPath = members["in"] == "path"
    }

    /// For people: `id: integer`, and `page?: integer` when it may be absent.
    package var text: String { "\(name)\(isRequired ? "" : "?"): \(schema.text)" }
}
