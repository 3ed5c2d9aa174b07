/// An open as a handler gets it.
public struct RouteRequest: Sendable {
    /// The URL after all redirects.
    public var url: RouteURL
    /// The URL that the caller passed.
    public var requested: String
    /// The pattern that matched, as it was registered.
    public var route: String
    /// The parameters, by source and merged.
    public var parameters: RouteParameters
    /// The URLs that redirects led to, in order; the last is `url`.
    public var hops: [String]
    /// The caller, and its conditions.
    public var context: OpenContext
    /// What the author says about the route.
    public var metadata: [String: JSONValue]
    /// The router of the open; its type lies above this one, see ``router``.
    let owner: any RequestOwner
    /// The pages above this one in its URL, the farthest first; empty unless the call asks for them by `route_parents`.
    var parents: [Parent] = []
    /// How the destination is shown when the call does not say it.
    var standardJumpType: JumpType

    /// A page that takes the beginning of a URL.
    struct Parent: Sendable, Hashable {
        /// The destination's name, or its pattern when it has none.
        var name: String
        /// The pattern that matched.
        var route: String
        /// The URL.
        var url: String
        /// Its parameters.
        var parameters: [String: JSONValue]
    }

    /// The presentation hints among the parameters.
    public var presentation: Presentation { Presentation(parameters, standard: standardJumpType) }
    /// The text after the `#`, decoded.
    public var fragment: String? { url.fragment }

    /// Says how far the handler is: the sender of the command learns it, at most once a second.
    ///
    /// - Parameters:
    ///   - fraction: From 0 to 1.
    ///   - text: What it does, for people; cut at 256 bytes.
    public func progress(_ fraction: Double, _ text: String? = nil) {
        context.onProgress?(HandlerProgress(fraction, text))
    }

    /// A service that was registered at the router under its type: what a handler depends on.
    ///
    ///     router.services.register(Orders.self) { try Orders(path: "orders.db") }
    ///
    ///     #route("myapp://orders/:id") { request in
    ///         let orders = try request.service(Orders.self)
    ///         return try .opened(encoding: await orders.find(request.parameters.value("id")))
    ///     }
    ///
    /// - Parameters:
    ///   - type: The type under which it is registered.
    ///   - actor: Where this is called; need not be given.
    /// - Throws: ``Failure`` 500 when there is none, or when it has to be made on another actor, and what its factory
    ///   throws.
    public func service<Service: Sendable>(
        _ type: Service.Type = Service.self, isolation actor: isolated (any Actor)? = #isolation
    ) throws -> Service {
        do {
            return try owner.registry.fetch(type)
        } catch let failure as Failure where failure.code == .noService {
            throw Failure.handlerFailed("\(route) needs \(type), which is not registered at its router")
        }
    }
}

/// What a request needs of the router that made it.
protocol RequestOwner: AnyObject, Sendable {
    /// The services for ``RouteRequest/service(_:)``.
    var registry: ServiceRegistry { get }
}
