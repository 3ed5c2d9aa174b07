/// A route as it is listed and exported: all that look-up depends on, and no handler.
public struct RouteDescription: Sendable, Hashable {
    /// The pattern.
    public var path: String
    /// The destination's name; empty when it has none.
    public var className: String
    /// The priority.
    public var priority: Int
    /// What kind of destination it is.
    public var kind: RouteKind
    /// Whether it also matches deeper URLs that no other route matches.
    package var takesDeeper: Bool
    /// Whether opening twice is the same as opening once.
    package var idempotent: Bool
    /// Whether the destination may redirect by itself, which no list can tell in advance.
    package var redirects: Bool
    /// The names of its pattern's converters that are not built in.
    package var converters: [String]
    /// What the author says about the route.
    public var metadata: [String: JSONValue]
    /// Parameters for opens that do not have them.
    public var defaults: [String: JSONValue]
    /// The parameters: those of the path from left to right, then others that are known.
    public var parameters: [RouteParameter]
    /// What its opens give; nil when that is not known.
    package var answer: MethodDescription.Value?
    /// Whether it says all there is, so that what it does not name does not hold; one by hand may leave things open.
    package var isWhole = Aside(false)

    /// A description by its parts.
    public init(
        path: String, className: String = "", priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, redirects: Bool = false,
        converters: [String] = [], metadata: [String: JSONValue] = [:],
        defaults: [String: JSONValue] = [:], parameters: [RouteParameter] = []
    ) {
        self.path = path
        self.className = className
        self.priority = priority
        self.kind = kind
        self.takesDeeper = takesDeeper
        self.idempotent = idempotent
        self.redirects = redirects
        self.converters = converters
        self.metadata = metadata
        self.defaults = defaults
        self.parameters = parameters
    }

    /// TheRouter's exported form, `{"path","class","priority"}`, with `kind` and what else holds added.
    package var json: JSONValue {
        var members: [String: JSONValue] = [
            "path": .string(path), "class": .string(className), "priority": .int(Int64(priority)),
            "kind": .string(kind.rawValue),
        ]
        for (name, holds) in flags where holds { members[name] = true }
        if !converters.isEmpty { members["converters"] = .array(converters.map { .string($0) }) }
        if !parameters.isEmpty { members["parameters"] = .array(parameters.map(\.json)) }
        if let answer { members["result"] = .object(answer.members) }
        for (name, values) in objects where !values.isEmpty { members[name] = .object(values) }
        return .object(members)
    }

    /// What the author gave along, by its key in an export.
    package var objects: [(name: String, values: [String: JSONValue])] {
        [("defaults", defaults), ("metadata", metadata)]
    }

    /// What holds of the route, by its key in an export.
    package var flags: [(name: String, holds: Bool)] {
        [("idempotent", idempotent), ("redirects", redirects), ("takesDeeper", takesDeeper)]
    }
}

/// A value that makes no difference when what it belongs to is compared.
package struct Aside<Value: Sendable>: Sendable, Hashable {
    package var value: Value

    init(_ value: Value) { self.value = value }

    package static func == (one: Self, other: Self) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

extension Route {
    /// A route as a list has it, with another handler; what it redirects to by itself is not in a list.
    package init(_ description: RouteDescription, handler: @escaping Handler) {
        let redirect: Redirect = { _ in nil }
        self.init(
            RouteKey(description.path), name: description.className.isEmpty ? nil : description.className,
            priority: description.priority, kind: description.kind, takesDeeper: description.takesDeeper,
            idempotent: description.idempotent, metadata: description.metadata,
            defaults: description.defaults, parameters: description.parameters,
            redirect: description.redirects ? redirect : nil,
            handler: handler)
        answer = description.answer
    }
}
