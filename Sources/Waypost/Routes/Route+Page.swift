extension Route {
    /// A page that a navigator shows.
    ///
    ///     try router.register(.page("myapp://orders/:id", name: "OrderScreen", in: stack))
    ///
    /// The first navigator of a registered page is ``Router/navigator``. The other arguments are those of
    /// ``init(_:name:priority:kind:takesDeeper:idempotent:jumpType:metadata:defaults:parameters:redirect:handler:)-(_,_,_,_,_,_,_,_,_,_,_,Route.Handler)``.
    public static func page(
        _ pattern: RouteKey, name: String? = nil, priority: Int = 0, in navigator: any Navigator,
        kind: RouteKind = .page, takesDeeper: Bool = false, idempotent: Bool = true,
        jumpType: JumpType? = nil, metadata: [String: JSONValue] = [:],
        defaults: [String: JSONValue] = [:], parameters: [RouteParameter] = [], redirect: Redirect? = nil
    ) -> Route {
        var route = Route(
            pattern, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect
        ) { request in
            let screen = Screen(request, name: name)
            return .opened(try await navigator.show(screen, objects: request.parameters.objects))
        }
        route.navigator = navigator
        return route
    }

    /// A page of a typed route that a navigator shows; ``Screen/route(as:)`` gives the navigator its value.
    ///
    /// An open with parameters that are no such value ends in 422, and nothing is shown.
    public static func page<Typed: TypedRoute>(
        _ type: Typed.Type, name: String? = nil, priority: Int = 0, in navigator: any Navigator,
        kind: RouteKind = .page, takesDeeper: Bool = false, idempotent: Bool = true,
        jumpType: JumpType? = nil, metadata: [String: JSONValue] = [:],
        defaults: [String: JSONValue] = [:], parameters: [RouteParameter] = [], redirect: Redirect? = nil
    ) -> Route where Typed.Answer == Void {
        let name = name ?? className(of: type)
        var route = Route(
            type, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect
        ) { _, request in
            let screen = Screen(request, name: name)
            return .opened(try await navigator.show(screen, objects: request.parameters.objects))
        }
        route.navigator = navigator
        return route
    }
}

extension Screen {
    /// The screen of an open.
    public init(_ request: RouteRequest, name: String? = nil) {
        self.init(
            name: name ?? request.route, route: request.route, url: request.url.text,
            parameters: request.parameters.merged, presentation: request.presentation)
        parents = request.parents.map {
            Screen(name: $0.name, route: $0.route, url: $0.url, parameters: $0.parameters)
        }
    }

    /// The parameters as the value of a typed route.
    ///
    /// - Throws: ``ParameterError`` when they are none, for instance because another route was opened.
    public func route<Typed: TypedRoute>(as type: Typed.Type) throws(ParameterError) -> Typed {
        try RouteParameters(caller: parameters).decode(type)
    }
}
