extension Router {
    /// Adds a gate, through which maps may have the opens of pages go: an interceptor that is asked where a map names it, and
    /// nowhere else.
    ///
    ///     router.gate("login") { _ in
    ///         isLoggedIn() ? .proceed : .redirect(to: "app://login")
    ///     }
    ///
    /// It is asked before the interceptors. An agent tells the names of its gates in its contract.
    /// - Parameters:
    ///   - name: Its name in maps; of two gates with one name the later is asked.
    ///   - deadline: How long it may take; that of interceptors unless set. Later the open fails with 408.
    ///   - gate: The decision; a ``Failure`` that it throws ends the open with its code.
    /// - Returns: A handle whose `cancel()` removes it; what maps say of it is inactive then.
    @discardableResult
    public func gate(
        _ name: String, deadline: Duration? = nil,
        @_inheritActorContext _ gate:
            nonisolated(nonsending) @escaping @Sendable (RouteRequest) async throws -> InterceptorDecision
    ) -> RegistrationHandle {
        add(.waiting(gate), name, deadline)
    }

    /// The same for a gate without `await`, which runs in place.
    @discardableResult
    public func gate(
        _ name: String, deadline: Duration? = nil,
        @_inheritActorContext _ gate:
            @escaping @isolated(any) @Sendable (RouteRequest) throws -> InterceptorDecision
    ) -> RegistrationHandle {
        add(HandlerBody(gate), name, deadline)
    }

    private func add(
        _ work: HandlerBody<RouteRequest, InterceptorDecision>, _ name: String, _ deadline: Duration?
    ) -> RegistrationHandle {
        let deadline = deadline ?? configuration.interceptorDeadline
        return addGate { Interceptor(gate: Hook(id: $0, name: name, deadline: deadline, work: work)) }
    }

    /// The names of the gates, in order.
    package var gateNames: [String] { Set(state.gates.map(\.name)).sorted() }
}

extension PageGuard {
    /// What the opens of its pages go through; nil when nothing is there to be asked.
    func gate(in state: RouterState) -> Interceptor? {
        switch effect {
        case .off: nil
        case .gate(let name): state.gate(named: name)
        case .refuse(let reason):
            Interceptor(
                gate: Hook(
                    id: 0, name: place.text, deadline: nil, work: .immediate { _ in .stop(reason: reason) }))
        }
    }
}
