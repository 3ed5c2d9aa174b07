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
    public var metadata: [String: JSONValue] = [:]
    /// The pages above this one in its URL, the farthest first; empty unless the call asks for them by `route_parents`.
    public internal(set) var parents: [Parent] = []
    /// How the destination is shown when the call does not say it.
    var standardJumpType = JumpType.push

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

    /// A request by its parts, for tests; the router makes its own.
    public init(
        url: RouteURL, requested: String? = nil, route: String,
        parameters: RouteParameters = RouteParameters(),
        hops: [String] = [], context: OpenContext = OpenContext()
    ) {
        self.url = url
        self.requested = requested ?? url.text
        self.route = route
        self.parameters = parameters
        self.hops = hops
        self.context = context
    }
}

/// The caller of an open, and its conditions.
public struct OpenContext: Sendable {
    /// The id of the command that opens the URL; all events of the open have it.
    public var ref: String?
    /// Who asks: the sender of the command; nil for the program itself.
    public var caller: String?
    /// The most time the handler may take; the configuration's unless set.
    public var deadline: Duration?
    /// Which attempt this is, from 1: a command that a crash interrupted may run again.
    public var attempt: Int
    /// Whether the caller ends the handler at its deadline, by cancelling the task, so that the router need not.
    public var isTimedByCaller: Bool
    /// Awaited before each handler or exposed method runs, after redirects and interceptors; nothing unless set.
    ///
    /// When it throws, the handler does not run and the open ends with what was thrown. The wait does not count
    /// against the handler's deadline.
    public var beforeHandler: (@Sendable (HandlerStart) async throws -> Void)?
    /// Called with true when the open begins to wait for a gate, and with false when it goes on or ends.
    public var onWait: (@Sendable (Bool) -> Void)?
    /// The values of which the URL has the texts.
    var typedValues: [String: JSONValue]?

    /// A context; everything has a default.
    public init(
        ref: String? = nil, caller: String? = nil, deadline: Duration? = nil, attempt: Int = 1,
        isTimedByCaller: Bool = false,
        beforeHandler: (@Sendable (HandlerStart) async throws -> Void)? = nil,
        onWait: (@Sendable (Bool) -> Void)? = nil
    ) {
        self.ref = ref
        self.caller = caller
        self.deadline = deadline
        self.attempt = attempt
        self.isTimedByCaller = isTimedByCaller
        self.beforeHandler = beforeHandler
        self.onWait = onWait
    }
}
