/// What routes are registered in, a ``Router`` or a ``RouteGroup``: one verb for every form of a ``Route``.
public protocol RouteRegistrar: AnyObject {
    /// What registering gives: a router's handle. A group returns nothing: it is registered as one step.
    associatedtype Registered

    /// Registers routes in one step: all of them, or none when one is refused.
    ///
    /// - Parameters:
    ///   - routes: The routes.
    ///   - replacing: Whether they may replace routes whose patterns match exactly the same URLs, and destinations of
    ///     the same name.
    /// - Returns: Of a router, a handle that says what was replaced, and whose `cancel()` removes these routes.
    /// - Throws: ``RegistrationError`` when a pattern is not valid, when another route or destination holds its place,
    ///   when no destination has the name that a further path gives, and when a type can never be read from its pattern.
    @discardableResult
    func register(_ routes: [Route], replacing: Bool) throws(RegistrationError) -> Registered
}

extension RouteRegistrar {
    /// Registers routes, none of which replaces another.
    @discardableResult
    public func register(_ routes: [Route]) throws(RegistrationError) -> Registered {
        try register(routes, replacing: false)
    }

    /// Registers a route.
    @discardableResult
    public func register(
        _ route: Route, replacing: Bool = false
    ) throws(RegistrationError) -> Registered {
        try register([route], replacing: replacing)
    }

    /// Registers a closure for the URLs of a pattern.
    ///
    ///     try router.register("myapp://orders/:id") { request in … }
    ///
    /// The arguments are those of
    /// ``Route/init(_:name:priority:kind:takesDeeper:idempotent:jumpType:metadata:defaults:parameters:redirect:handler:)-(_,_,_,_,_,_,_,_,_,_,_,Route.Handler)``,
    /// and `replacing` is that of ``register(_:replacing:)``.
    @discardableResult
    public func register(
        _ pattern: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], replacing: Bool = false, redirect: Route.Redirect? = nil,
        @_inheritActorContext handler: @escaping Route.Handler
    ) throws(RegistrationError) -> Registered {
        let route = Route(
            pattern, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
        return try register([route], replacing: replacing)
    }

    /// The same for a handler without `await`, which runs in place.
    @discardableResult
    public func register(
        _ pattern: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], replacing: Bool = false, redirect: Route.Redirect? = nil,
        @_inheritActorContext handler: @escaping Route.ImmediateHandler
    ) throws(RegistrationError) -> Registered {
        let route = Route(
            pattern, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
        return try register([route], replacing: replacing)
    }

    /// Registers a closure that gets its parameters as a value.
    ///
    ///     try router.register(OrderRoute.self) { order, request in … }
    @discardableResult
    public func register<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], replacing: Bool = false, redirect: Route.Redirect? = nil,
        @_inheritActorContext handler:
            nonisolated(nonsending) @escaping @Sendable (Typed, RouteRequest) async throws -> RouteAnswer
    ) throws(RegistrationError) -> Registered where Typed.Answer == Void {
        let route = Route(
            type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
        return try register([route], replacing: replacing)
    }

    /// The same for a handler without `await`.
    @discardableResult
    public func register<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], replacing: Bool = false, redirect: Route.Redirect? = nil,
        @_inheritActorContext handler:
            @escaping @isolated(any) @Sendable (Typed, RouteRequest) throws -> RouteAnswer
    ) throws(RegistrationError) -> Registered where Typed.Answer == Void {
        let route = Route(
            type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
        return try register([route], replacing: replacing)
    }

    /// Registers a closure that gets its parameters as a value, and gives its answer as one; nil declines.
    ///
    ///     try router.register(TotalRoute.self) { total, request in orders[total.id]?.total }
    @discardableResult
    public func register<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], replacing: Bool = false, redirect: Route.Redirect? = nil,
        @_inheritActorContext handler:
            nonisolated(nonsending) @escaping @Sendable (Typed, RouteRequest) async throws -> Typed.Answer?
    ) throws(RegistrationError) -> Registered where Typed.Answer: Codable {
        let route = Route(
            type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
        return try register([route], replacing: replacing)
    }

    /// The same for a handler without `await`.
    @discardableResult
    public func register<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], replacing: Bool = false, redirect: Route.Redirect? = nil,
        @_inheritActorContext handler:
            @escaping @isolated(any) @Sendable (Typed, RouteRequest) throws -> Typed.Answer?
    ) throws(RegistrationError) -> Registered where Typed.Answer: Codable {
        let route = Route(
            type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
        return try register([route], replacing: replacing)
    }
}
