/// Routes that have something in common: the beginning of their patterns, metadata, defaults, interceptors.
///
/// See ``Router/group(_:metadata:defaults:replacing:_:)``.
public final class RouteGroup: RouteRegistrar {
    /// An interceptor of a group that is not in force yet.
    struct AddedInterceptor {
        var name: String
        var priority: Int
        var deadline: Duration?
        var mark: GroupMark
        var work: HandlerBody<RouteRequest, InterceptorDecision>
    }

    private let prefix: RouteKey
    private let metadata: [String: JSONValue]
    private let defaults: [String: JSONValue]
    /// Its own mark and those of the groups around it.
    private let marks: [GroupMark]
    private let mark: GroupMark
    /// The routes by the registrations, each with whether they may replace others.
    private(set) var steps: [(routes: [Route], replacing: Bool)] = []
    private(set) var interceptors: [AddedInterceptor] = []

    init(
        _ prefix: RouteKey, _ metadata: [String: JSONValue], _ defaults: [String: JSONValue],
        within marks: [GroupMark] = []
    ) {
        self.prefix = prefix
        self.metadata = metadata
        self.defaults = defaults
        mark = GroupMark()
        self.marks = marks + [mark]
    }

    /// Registers routes whose patterns follow the group's own beginning; an empty one is that alone.
    ///
    /// They are in force when the whole group is. A pattern that has the group's beginning is one as it stands.
    /// - Throws: ``RegistrationError`` for a pattern with a scheme that does not begin as the group does.
    public func register(_ routes: [Route], replacing: Bool) throws(RegistrationError) {
        var added: [Route] = []
        for var route in routes {
            if let pattern = route.pattern {
                route.pattern = try joined(pattern)
                route.keyInGroup = route.pattern == pattern ? nil : pattern
            }
            route.metadata = metadata.merging(route.metadata) { $1 }
            route.defaults = defaults.merging(route.defaults) { $1 }
            route.groups = marks
            added.append(route)
        }
        steps.append((added, replacing))
    }

    /// Adds an interceptor for all routes of the group and of the groups in it, wherever it stands.
    ///
    /// Paths that relocation adds for their destinations are guarded too.
    public func intercept(
        _ name: String = "interceptor", priority: Int = 0, deadline: Duration? = nil,
        @_inheritActorContext _ interceptor:
            nonisolated(nonsending) @escaping @Sendable (RouteRequest) async throws -> InterceptorDecision
    ) {
        interceptors.append(
            AddedInterceptor(
                name: name, priority: priority, deadline: deadline, mark: mark, work: .waiting(interceptor)))
    }

    /// The same for one without `await`.
    public func intercept(
        _ name: String = "interceptor", priority: Int = 0, deadline: Duration? = nil,
        @_inheritActorContext _ interceptor:
            @escaping @isolated(any) @Sendable (RouteRequest) throws -> InterceptorDecision
    ) {
        interceptors.append(
            AddedInterceptor(
                name: name, priority: priority, deadline: deadline, mark: mark, work: HandlerBody(interceptor)
            )
        )
    }

    /// A group in this one: its values go before those of this one.
    public func group(
        _ prefix: RouteKey, metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        _ body: (RouteGroup) throws -> Void
    ) throws {
        let inner = RouteGroup(
            try joined(prefix), self.metadata.merging(metadata) { $1 },
            self.defaults.merging(defaults) { $1 }, within: marks)
        try body(inner)
        steps += inner.steps
        interceptors += inner.interceptors
    }

    private func joined(_ pattern: RouteKey) throws(RegistrationError) -> RouteKey {
        let (prefix, pattern) = (prefix.rawValue, pattern.rawValue)
        guard pattern.utf8.firstRange(of: "://".utf8) == nil else {
            let rest = pattern.utf8.dropFirst(prefix.utf8.count)
            let isWithin =
                rest.isEmpty || prefix.utf8.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
            if pattern.utf8.starts(with: prefix.utf8), isWithin { return RouteKey(pattern) }
            throw .badPattern(
                pattern, offset: 0, detail: "it has a scheme, but follows the prefix \(prefix) of its group")
        }
        let rest = pattern.utf8.drop { $0 == UInt8(ascii: "/") }
        guard !rest.isEmpty else { return self.prefix }
        return RouteKey(prefix + (prefix.utf8.last == UInt8(ascii: "/") ? "" : "/") + String(Substring(rest)))
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
        _ prefix: RouteKey, metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        replacing: Bool = false, _ body: (RouteGroup) throws -> Void
    ) throws -> RegistrationHandle {
        let group = RouteGroup(prefix, metadata, defaults)
        try body(group)
        let deadline = configuration.interceptorDeadline
        loadLinked()
        let (id, added) = try swap { (state, number) throws(RegistrationError) in
            var added: [RouterState.Added] = []
            for step in group.steps {
                added.append(try state.add(step.routes, replacing: replacing || step.replacing))
            }
            for interceptor in group.interceptors {
                state.insert(Interceptor(id: number, interceptor, deadline: deadline))
            }
            return (number, added)
        }
        useNavigator(of: group.steps.flatMap(\.routes))
        notifyChange()
        return RegistrationHandle(replaced: added.flatMap(\.replaced)) { [weak self] in
            self?.swap { state, _ in
                for added in added { state.remove(added) }
                state.interceptors.removeAll { $0.id == id }
            }
            self?.notifyChange()
        }
    }
}
