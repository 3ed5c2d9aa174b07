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
    /// The pages above this one in its URL, the farthest first; empty unless the call asks for them by `route_parents`.
    public internal(set) var parents: [Parent] = []
    /// How the destination is shown when the call does not say it.
    var standardJumpType: JumpType

    /// A page that takes the beginning of a URL.
    public struct Parent: Sendable, Hashable {
        /// The destination's name, or its pattern when it has none.
        public var name: String
        /// The pattern that matched.
        public var route: String
        /// The URL.
        public var url: String
        /// Its parameters.
        public var parameters: [String: JSONValue]
    }

    /// The presentation hints among the parameters.
    public var presentation: Presentation { Presentation(parameters, standard: standardJumpType) }
    /// The text after the `#`, decoded.
    public var fragment: String? { url.fragment }
}

// In an extension, so that it is made of all its parts at once, as an `Opening` is.
extension RouteRequest {
    /// A request by its parts, for tests; the router makes its own.
    public init(
        url: RouteURL, requested: String? = nil, route: String,
        parameters: RouteParameters = RouteParameters(),
        hops: [String] = [], context: OpenContext = OpenContext()
    ) {
        self.init(
            url: url, requested: requested ?? url.text, route: route, parameters: parameters, hops: hops,
            context: context, metadata: [:], standardJumpType: .push)
    }
}
