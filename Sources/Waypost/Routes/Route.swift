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
public struct RouteAnswer: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case opened(JSONValue?)
        /// The same with a value that only a caller in this process gets.
        case openedWithObject(NativeValue, JSONValue?)
        case pass
    }

    let kind: Kind

    /// The URL was opened; the value goes back to the caller.
    public static func opened(_ value: JSONValue? = nil) -> RouteAnswer { RouteAnswer(kind: .opened(value)) }

    /// This destination declines; the next route that takes the URL is tried.
    public static let pass = RouteAnswer(kind: .pass)

    /// The URL was opened; the caller gets the value as JSON.
    ///
    /// - Throws: what encoding it throws; then the open ends with 500.
    public static func opened(encoding value: some Encodable) throws -> RouteAnswer {
        .opened(try JSONValue(encoding: value))
    }

    /// The URL was opened; the native value, for instance a screen, goes back to a caller in this process, and the
    /// other to every caller.
    public static func opened(_ value: JSONValue? = nil, object: any Sendable) -> RouteAnswer {
        RouteAnswer(kind: .openedWithObject(NativeValue(object), value))
    }
}

/// What marks the routes of one group for its interceptors.
final class GroupMark: Sendable {}

/// A destination with the URLs that lead to it: what is registered, whichever way it is made.
///
///     try router.register([
///         Route("myapp://orders/:id", metadata: ["auth": true]) { request in … },
///         Route("myapp://help", to: HelpPage.self),
///         .page(.cart, in: stack),
///     ])
public struct Route: Sendable {
    /// The type of a handler, which runs when the URL is opened.
    public typealias Handler = nonisolated(nonsending) @Sendable (RouteRequest) async throws -> RouteAnswer
    /// A handler without `await`: it runs in place, without a task of its own, unless it belongs to an actor.
    public typealias ImmediateHandler = @isolated(any) @Sendable (RouteRequest) throws -> RouteAnswer
    /// Returns another URL to open instead, or nil.
    ///
    /// It must have no side effects, because `resolve` runs it too.
    public typealias Redirect = @Sendable (RouteRequest) -> String?

    /// The pattern; nil for a destination without a path of its own.
    public var pattern: RouteKey?
    /// The destination's name, which relocation entries call `className`.
    public var name: String?
    /// A route with a higher priority is tried first; 0 unless set.
    public var priority: Int
    /// What kind of destination it is.
    package var kind: RouteKind
    /// Whether it also matches deeper URLs that no other route matches.
    public var takesDeeper: Bool
    /// Whether opening twice is the same as opening once; then it runs again when a crash interrupted it.
    package var idempotent: Bool
    /// The route's own conditional redirect.
    package var redirect: Redirect?
    /// How the destination is shown when the call does not say it; nil, the default, means as the router does.
    public var jumpType: JumpType?
    /// What the author says about the route, for interceptors, lists and tools: `auth`, `roles`, `title`, …; the router
    /// itself reads none of it.
    public var metadata: [String: JSONValue]
    /// Parameters for opens that do not have them from anywhere else.
    package var defaults: [String: JSONValue]
    /// The parameters that it reads beside the placeholders of the path, and what the author knows of those; for lists
    /// and tools, the router itself reads none of it.
    package var parameters: [RouteParameter]
    /// The handler.
    public var handler: Handler {
        get { { [work] in try await work($0) } }
        set { work = .waiting(newValue) }
    }
    private(set) var work: HandlerBody<RouteRequest, RouteAnswer>
    /// Whether its handler is that of the destination that is registered under its name.
    private(set) var isFurtherPath = false
    /// What its handler reads of the parameters before it runs; nil when that is not known.
    var properties: TypedProperties?
    /// What its opens give; nil when that is not known.
    var answer: MethodDescription.Value?
    /// What shows it; nil for a route without a screen.
    var navigator: (any Navigator)?
    /// The module that brought it.
    var module: DeclaredModule?
    /// Those that it is in.
    var groups: [GroupMark] = []
    /// The pattern as it was registered in a group, without the group's beginning.
    var keyInGroup: RouteKey?

    /// A route by its parts.
    ///
    /// - Parameters:
    ///   - pattern: The URLs it takes; see <doc:FindingAHandler>.
    ///   - name: The destination's name, which relocation entries call `className`.
    ///   - priority: A route with a higher priority is tried first; 0 unless set.
    ///   - kind: A page, an action or web content.
    ///   - takesDeeper: Whether it also matches deeper URLs that no other route matches.
    ///   - idempotent: Whether an open that a crash interrupted may run again.
    ///   - jumpType: How it is shown when the call does not say it.
    ///   - metadata: What the author says about it; see ``metadata``.
    ///   - defaults: Parameters for opens that do not have them.
    ///   - parameters: What it reads beside the placeholders; see ``RouteParameter``.
    ///   - redirect: The destination's own conditional redirect; must have no effect.
    ///   - handler: The handler.
    public init(
        _ pattern: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler: @escaping Handler
    ) {
        self.init(
            pattern, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, work: .waiting(handler))
    }

    /// A route by its parts whose handler has no `await`.
    public init(
        _ pattern: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler: @escaping ImmediateHandler
    ) {
        self.init(
            pattern, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, work: HandlerBody(handler))
    }

    /// A further path of the destination that is registered under that name.
    ///
    ///     try router.register(Route("myapp://bestellungen", to: "OrderList"))
    ///
    /// It has the destination's handler, name and kind; metadata, defaults and parameters are added to its own.
    /// Registering it throws ``RegistrationError`` when no destination has that name.
    public init(
        _ pattern: RouteKey, to name: String, priority: Int = 0, takesDeeper: Bool = false,
        jumpType: JumpType? = nil, metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil
    ) {
        self.init(
            pattern, name: name, priority: priority, kind: .page, takesDeeper: takesDeeper,
            idempotent: false, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect,
            work: .immediate { _ in throw Failure(.noRoute, "no destination is named \(name)") })
        isFurtherPath = true
    }

    /// A destination without a path, for which relocation entries of type 2 and ``init(_:to:priority:takesDeeper:jumpType:metadata:defaults:parameters:redirect:)``
    /// may add some: they all have its handler and its metadata.
    public static func destination(
        _ name: String, kind: RouteKind = .page, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler: @escaping Handler
    ) -> Route {
        Route(
            nil, name: name, priority: 0, kind: kind, takesDeeper: false, idempotent: idempotent,
            jumpType: jumpType, metadata: metadata, defaults: defaults, parameters: parameters,
            redirect: redirect, work: .waiting(handler))
    }

    init(
        _ pattern: RouteKey?, name: String?, priority: Int, kind: RouteKind, takesDeeper: Bool,
        idempotent: Bool, jumpType: JumpType?, metadata: [String: JSONValue],
        defaults: [String: JSONValue], parameters: [RouteParameter], redirect: Redirect?,
        work: HandlerBody<RouteRequest, RouteAnswer>
    ) {
        self.pattern = pattern
        self.name = name
        self.priority = priority
        self.kind = kind
        self.takesDeeper = takesDeeper
        self.idempotent = idempotent
        self.jumpType = jumpType
        self.metadata = metadata
        self.defaults = defaults
        self.parameters = parameters
        self.redirect = redirect
        self.work = work
    }

    /// A further path of another destination: that with what this route says of itself.
    func path(of destination: Route) -> Route {
        var route = destination
        route.pattern = pattern
        route.name = name
        route.priority = priority
        route.takesDeeper = takesDeeper
        route.jumpType = jumpType ?? destination.jumpType
        route.metadata.merge(metadata) { $1 }
        route.defaults.merge(defaults) { $1 }
        route.parameters += parameters
        route.redirect = redirect ?? destination.redirect
        route.groups += groups
        route.keyInGroup = keyInGroup
        return route
    }
}
