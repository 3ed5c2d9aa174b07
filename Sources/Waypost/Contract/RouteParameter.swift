/// A parameter of a route: what a caller has to know.
public struct RouteParameter: Sendable, Hashable {
    /// The name: a placeholder of the pattern, or a key of the query or of the caller's parameters.
    public var name: String
    /// What it may be.
    public var schema: ValueSchema
    /// Whether an open without it fails.
    public var isRequired: Bool
    /// What it is for, one sentence; nil when the author says nothing.
    public var summary: String?
    /// Whether it is a placeholder of the path; the pattern says it.
    public internal(set) var isInPath = false

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
    var json: JSONValue {
        var members = schema.members
        members["name"] = .string(name)
        members["in"] = isInPath ? "path" : "query"
        if isRequired { members["required"] = true }
        members["description"] = summary.map { .string($0) }
        return .object(members)
    }

    /// Reads an exported parameter; nil when it has no name.
    init?(_ json: JSONValue) {
        guard let members = json.objectValue, let name = members["name"]?.stringValue else { return nil }
        self.init(
            name, ValueSchema(members), isRequired: members["required"] == true,
            summary: members["description"]?.stringValue)
        isInPath = members["in"] == "path"
    }

    /// For people: `id: integer`, and `page?: integer` when it may be absent.
    package var text: String { "\(name)\(isRequired ? "" : "?"): \(schema.text)" }
}

extension StoredRoute {
    /// The placeholders from left to right, and then what the author declared beside them.
    ///
    /// What a pattern says of a placeholder holds; where it takes any text, what the author says.
    var parameters: [RouteParameter] {
        let optional = pattern.optionalNames
        let declared = Dictionary(route.parameters.map { ($0.name, $0) }) { first, _ in first }
        var parameters: [RouteParameter] = []
        for segment in pattern.segments {
            for (name, schema) in segment.schemas {
                var parameter = declared[name] ?? RouteParameter(name)
                if schema != ValueSchema(.string) || parameter.schema == .any { parameter.schema = schema }
                parameter.isInPath = true
                parameter.isRequired = !optional.contains(name)
                parameters.append(parameter)
            }
        }
        let names = Set(parameters.map(\.name))
        for var parameter in route.parameters where !names.contains(parameter.name) {
            if route.defaults[parameter.name] != nil { parameter.isRequired = false }
            parameter.isInPath = false
            parameters.append(parameter)
        }
        return parameters
    }
}

extension RoutePattern.Segment {
    /// What the placeholders take, by their names.
    fileprivate var schemas: [(name: String, ValueSchema)] {
        switch self {
        case .literal, .wildcard: []
        case .placeholder(let name), .rest(let name): [(name, ValueSchema(.string))]
        case .typed(let name, let converter): [(name, Self.schema(of: converter))]
        case .partial(_, let name, _, let converter): [(name, Self.schema(of: converter))]
        case .several(_, let parts): parts.map { ($0.name, Self.schema(of: $0.converter)) }
        }
    }

    private static func schema(of converter: String?) -> ValueSchema {
        guard let converter else { return ValueSchema(.string) }
        switch PatternConstraint(converter) {
        case .int(let range):
            return ValueSchema(
                .integer, minimum: range.lowerBound == .min ? nil : range.lowerBound,
                maximum: range.upperBound == .max ? nil : range.upperBound)
        case .oneOf(let texts): return ValueSchema(.string, values: texts)
        case nil: break
        }
        return switch converter {
        case "int": ValueSchema(.integer)
        case "double": ValueSchema(.number)
        case "bool": ValueSchema(.boolean)
        case "string", "str": ValueSchema(.string)
        default: ValueSchema(format: converter)
        }
    }
}
