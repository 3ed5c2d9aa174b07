extension RouteRequest {
    /// The router of the open, for a handler that opens more.
    public var router: Router {
        // Only a router makes requests, and the one for tests has one too.
        owner as? Router ?? .shared
    }
}

// In an extension, so that it is made of all its parts at once, as an `Opening` is.
extension RouteRequest {
    /// A request by its parts, for tests; the router makes its own.
    public init(
        url: RouteURL, requested: String? = nil, route: String,
        parameters: RouteParameters = RouteParameters(),
        hops: [String] = [], context: OpenContext = OpenContext(), router: Router = Router()
    ) {
        router.loadLinked()
        self.init(
            url: url, requested: requested ?? url.text, route: route, parameters: parameters, hops: hops,
            context: context, metadata: [:], owner: router, standardJumpType: .push)
    }
}

extension Router: RequestOwner {}
