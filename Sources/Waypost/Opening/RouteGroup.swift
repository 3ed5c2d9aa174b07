/// Routes that have something in common: the beginning of their patterns, metadata, defaults, interceptors.
///
/// See ``Router/group(_:metadata:defaults:replacing:_:)``.
public struct RouteGroup {
    /// An interceptor of a group that is not in force yet.
    struct AddedInterceptor {
        var name: String
        var priority: Int
        var deadline: Duration?
        var mark: GroupMark
        var work: HandlerBody<RouteRequest, InterceptorDecision>
    }

    private let prefix: String
    private let metadata: [String: JSONValue]
    private let defaults: [String: JSONValue]
    /// Its own mark and those of the groups around it.
    private let marks: [GroupMark]
    private let mark: GroupMark
    private(set) var routes: [Route] = []
    private(set) var interceptors: [AddedInterceptor] = []

    init(
        _ prefix: String, _ metadata: [String: JSONValue], _ defaults: [String: JSONValue],
        within marks: [GroupMark] = []
    ) {
        self.prefix = prefix
        self.metadata = metadata
        self.defaults = defaults
        mark = GroupMark()
        self.marks = marks + [mark]
    }

    /// Registers a destination as `Router.register` does.
    ///
    /// The pattern is what follows the group's own beginning; empty for that alone.
    public mutating func register(
        _ pattern: String, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, metadata: [String: JSONValue] = [:],
        defaults: [String: JSONValue] = [:], parameters: [RouteParameter] = [],
        redirect: Route.Redirect? = nil, @_inheritActorContext handler: @escaping Route.Handler
    ) throws(RegistrationError) {
        try register([
            Route(
                pattern, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
                idempotent: idempotent, metadata: metadata, defaults: defaults, parameters: parameters,
                redirect: redirect, handler: handler)
        ])
    }

    /// The same for a handler without `await`.
    public mutating func register(
        _ pattern: String, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, metadata: [String: JSONValue] = [:],
        defaults: [String: JSONValue] = [:], parameters: [RouteParameter] = [],
        redirect: Route.Redirect? = nil, @_inheritActorContext handler: @escaping Route.ImmediateHandler
    ) throws(RegistrationError) {
        try register([
            Route(
                pattern, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
                idempotent: idempotent, metadata: metadata, defaults: defaults, parameters: parameters,
                redirect: redirect, handler: handler)
        ])
    }

    /// Registers routes whose patterns follow the group's own beginning.
    ///
    /// - Throws: ``RegistrationError`` for a pattern with a scheme of its own.
    public mutating func register(_ routes: [Route]) throws(RegistrationError) {
        for route in routes {
            var route = route
            route.pattern = try joined(route.pattern)
            route.metadata = metadata.merging(route.metadata) { $1 }
            route.defaults = defaults.merging(route.defaults) { $1 }
            route.groups = marks
            self.routes.append(route)
        }
    }

    /// Adds an interceptor for all routes of the group and of the groups in it, wherever it stands.
    ///
    /// Paths that relocation adds for their destinations are guarded too.
    public mutating func intercept(
        _ name: String = "interceptor", priority: Int = 0, deadline: Duration? = nil,
        @_inheritActorContext _ interceptor:
            nonisolated(nonsending) @escaping @Sendable (RouteRequest) async -> InterceptorDecision
    ) {
        interceptors.append(
            AddedInterceptor(
                name: name, priority: priority, deadline: deadline, mark: mark, work: .waiting(interceptor)))
    }

    /// The same for one without `await`.
    public mutating func intercept(
        _ name: String = "interceptor", priority: Int = 0, deadline: Duration? = nil,
        @_inheritActorContext _ interceptor:
            @escaping @isolated(any) @Sendable (RouteRequest) -> InterceptorDecision
    ) {
        interceptors.append(
            AddedInterceptor(
                name: name, priority: priority, deadline: deadline, mark: mark, work: HandlerBody(interceptor)
            )
        )
    }

    /// A group in this one: its values go before those of this one.
    public mutating func group(
        _ prefix: String, metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        _ body: (inout RouteGroup) throws -> Void
    ) throws {
        var inner = RouteGroup(
            try joined(prefix), self.metadata.merging(metadata) { $1 },
            self.defaults.merging(defaults) { $1 }, within: marks)
        try body(&inner)
        routes += inner.routes
        interceptors += inner.interceptors
    }

    private func joined(_ pattern: String) throws(RegistrationError) -> String {
        guard pattern.utf8.firstRange(of: "://".utf8) == nil else {
            throw .badPattern(
                pattern, offset: 0, detail: "it has a scheme, but follows the prefix \(prefix) of its group")
        }
        let rest = pattern.utf8.drop { $0 == UInt8(ascii: "/") }
        guard !rest.isEmpty else { return prefix }
        return prefix + (prefix.utf8.last == UInt8(ascii: "/") ? "" : "/") + String(Substring(rest))
    }
}

extension Router {
    /// Registers routes that have something in common, with their interceptors.
    ///
    /// It is one step: all, or nothing when one is refused. No route is ever open without the group's interceptors.
    ///
    ///     try router.group("shop://admin", metadata: ["auth": true]) { admin in
    ///         admin.intercept("login") { _ in isLoggedIn() ? .proceed : .stop(reason: "log in first") }
    ///         try admin.register("users/:id") { request in … }
    ///         try admin.group("reports", defaults: ["page": 1]) { reports in
    ///             try reports.register("daily") { request in … }
    ///         }
    ///     }
    ///
    /// - Parameters:
    ///   - prefix: The beginning of all patterns.
    ///   - metadata: What holds for all; a route's own values go before.
    ///   - defaults: Parameters for opens that do not have them; a route's own values go before.
    ///   - replacing: Whether they may replace routes whose patterns match exactly the same URLs.
    ///   - body: Fills the group.
    /// - Returns: A handle whose `cancel()` removes the routes and the interceptors.
    /// - Throws: ``RegistrationError``, and what `body` throws.
    @discardableResult
    public func group(
        _ prefix: String, metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        replacing: Bool = false, _ body: (inout RouteGroup) throws -> Void
    ) throws -> RegistrationHandle {
        var group = RouteGroup(prefix, metadata, defaults)
        try body(&group)
        let (routes, interceptors, deadline) = (
            group.routes, group.interceptors, configuration.interceptorDeadline
        )
        loadLinked()
        let id = try swap { (state, number) throws(RegistrationError) -> UInt64 in
            try state.add(routes, replacing: replacing)
            for added in interceptors { state.insert(Interceptor(id: number, added, deadline: deadline)) }
            return number
        }
        notifyChange()
        let patterns = routes.map(\.pattern)
        return RegistrationHandle { [weak self] in
            self?.swap { state, _ in
                for pattern in patterns { _ = state.remove(pattern) }
                state.interceptors.removeAll { $0.id == id }
            }
            self?.notifyChange()
        }
    }
}
