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

    /// The type that the route reads, when it needs properties beside the path and reads not all of the path.
    package var unread: (type: String, needed: [String], placeholders: [String])? {
        let placeholders = pattern.placeholders
        guard let properties = route.properties, !placeholders.isEmpty,
            let unread = properties.unread(placeholders, route.defaults)
        else { return nil }
        return (properties.type, unread.needed, unread.placeholders)
    }
}

extension RoutePattern {
    /// What the placeholders take, from left to right, whatever the author says of them.
    var placeholders: [RouteParameter] {
        segments.flatMap(\.schemas).map { RouteParameter($0.name, $0.1) }
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
