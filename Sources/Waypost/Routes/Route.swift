/// What kind of destination a route has.
public enum RouteKind: String, Sendable, Hashable, CaseIterable, Codable {
    /// It is shown.
    case page
    /// It does something.
    case action
    /// A page that shows web content.
    case web
}

/// The answer of a handler.
public enum RouteAnswer: Sendable, Hashable {
    /// The URL was opened; the value goes back to the caller.
    case opened(JSONValue? = nil)
    /// This destination declines; the next route that takes the URL is tried.
    case pass
}

/// A pattern with its destination.
public struct Route: Sendable {
    /// The type of a handler, which runs when the URL is opened.
    public typealias Handler = @Sendable (RouteRequest) async throws -> RouteAnswer
    /// Returns another URL to open instead, or nil.
    ///
    /// It must have no side effects, because `resolve` runs it too.
    public typealias Redirect = @Sendable (RouteRequest) -> String?

    /// The pattern, as ``RoutePattern`` reads it.
    public var pattern: String
    /// The destination's name, which relocation entries call `className`.
    public var name: String?
    /// A route with a higher priority is tried first; 0 unless set.
    public var priority: Int
    /// What kind of destination it is.
    public var kind: RouteKind
    /// Whether it also takes URLs below it that nothing else takes.
    public var takesDeeper: Bool
    /// Whether opening twice is the same as opening once; then an open that a crash interrupted runs again.
    public var idempotent: Bool
    /// The route's own conditional redirect.
    public var redirect: Redirect?
    /// The handler.
    public var handler: Handler
    /// The module that brought it.
    var module: DeclaredModule?

    /// A route by its parts.
    public init(
        _ pattern: String, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, redirect: Redirect? = nil,
        handler: @escaping Handler
    ) {
        self.pattern = pattern
        self.name = name
        self.priority = priority
        self.kind = kind
        self.takesDeeper = takesDeeper
        self.idempotent = idempotent
        self.redirect = redirect
        self.handler = handler
    }
}

/// A route as it is listed and exported.
public struct RouteDescription: Sendable, Hashable {
    /// The pattern.
    public var path: String
    /// The destination's name; empty when it has none.
    public var className: String
    /// The priority.
    public var priority: Int
    /// What kind of destination it is.
    public var kind: RouteKind

    /// A description by its parts.
    public init(path: String, className: String = "", priority: Int = 0, kind: RouteKind = .page) {
        self.path = path
        self.className = className
        self.priority = priority
        self.kind = kind
    }

    /// TheRouter's exported form, `{"path","class","priority"}`, with `kind` added.
    package var json: JSONValue {
        [
            "path": .string(path), "class": .string(className), "priority": .int(Int64(priority)),
            "kind": .string(kind.rawValue),
        ]
    }
}
