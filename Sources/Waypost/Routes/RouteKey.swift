/// A named pattern, so that no path is written twice.
///
///     extension RouteKey {
///         static let userPage: RouteKey = "myapp://user/:id"
///     }
///     try router.register(.userPage) { request in … }
///     let opening = await router.open(.userPage, ["id": 42])
public struct RouteKey: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// The pattern.
    public let rawValue: String

    /// A key for a pattern.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A key for a pattern written as a literal.
    public init(stringLiteral value: String) {
        rawValue = value
    }

    /// The pattern.
    public var description: String { rawValue }
}

extension Route {
    /// A route for the pattern of a key.
    public init(
        _ key: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler: @escaping Handler
    ) {
        self.init(
            key.rawValue, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
    }

    /// A route for the pattern of a key whose handler has no `await`.
    public init(
        _ key: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
        metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
        parameters: [RouteParameter] = [], redirect: Redirect? = nil,
        @_inheritActorContext handler: @escaping ImmediateHandler
    ) {
        self.init(
            key.rawValue, name: name, priority: priority, kind: kind, takesDeeper: takesDeeper,
            idempotent: idempotent, jumpType: jumpType, metadata: metadata, defaults: defaults,
            parameters: parameters, redirect: redirect, handler: handler)
    }
}
