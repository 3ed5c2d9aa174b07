/// An open that is about to begin; nothing of it was looked at yet.
public struct PendingOpen: Sendable {
    /// The URL, as the caller passed it or as another hook changed it; it may not even be one.
    public var url: String
    /// What the caller passed beside the URL.
    public var parameters: [String: JSONValue]
    /// Native values of the caller.
    public var objects: [String: any Sendable]
    /// The caller, and its conditions.
    public var context: OpenContext

    /// An open by its parts, for tests of a hook; a router makes its own.
    public init(
        url: String, parameters: [String: JSONValue] = [:], objects: [String: any Sendable] = [:],
        context: OpenContext = .init()
    ) {
        self.url = url
        self.parameters = parameters
        self.objects = objects
        self.context = context
    }
}

/// The decision of a hook before an open.
public enum OpenHookDecision: Sendable, Hashable {
    /// Goes on.
    case proceed
    /// Goes on with another URL; it counts as a redirect.
    case open(String)
    /// Ends the open with this reason.
    case stop(reason: String)
}

typealias OpenHook = Hook<PendingOpen, OpenHookDecision>

extension Router {
    /// Adds a hook: it is asked once for each open, before anything else.
    ///
    ///     try router.willOpen("campaign") { open in
    ///         open.url.contains("google") ? .open(open.url + "&extra=1") : .proceed
    ///     }
    ///
    /// That is also for URLs that no route matches, that are not allowed or no URLs at all, and for service URLs. Fallbacks
    /// and redirects are no opens of their own. An `Router.intercept` comes later: it is asked
    /// for each route that is found, and `ServiceRegistry.willCall` for each method. ``resolve(_:parameters:)`` and ``canOpen(_:)`` ask no hook.
    /// - Parameters:
    ///   - name: Its name in outcomes and logs.
    ///   - deadline: How long it may take; that of interceptors unless set. Later the open fails with 408.
    ///   - hook: The decision; a ``Failure`` that it throws ends the open with its code. Several hooks are asked in the order of adding, each with the URL of the one before.
    /// - Returns: A handle whose `cancel()` removes it.
    @discardableResult
    public func willOpen(
        _ name: String = "willOpen", deadline: Duration? = nil,
        @_inheritActorContext _ hook:
            nonisolated(nonsending) @escaping @Sendable (PendingOpen) async throws -> OpenHookDecision
    ) -> RegistrationHandle {
        add(.waiting(hook), name, deadline)
    }

    /// The same for a hook without `await`, which runs in place.
    @discardableResult
    public func willOpen(
        _ name: String = "willOpen", deadline: Duration? = nil,
        @_inheritActorContext _ hook:
            @escaping @isolated(any) @Sendable (PendingOpen) throws -> OpenHookDecision
    ) -> RegistrationHandle {
        add(HandlerBody(hook), name, deadline)
    }

    private func add(
        _ work: HandlerBody<PendingOpen, OpenHookDecision>, _ name: String, _ deadline: Duration?
    ) -> RegistrationHandle {
        let deadline = deadline ?? configuration.interceptorDeadline
        return add { OpenHook(id: $0, name: name, deadline: deadline, work: work) }
    }
}
