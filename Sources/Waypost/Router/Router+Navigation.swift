import Threading

/// The navigator of a router, and those who listen to it, whichever comes first.
struct Navigation: Sendable {
    private(set) var navigator: (any Navigator)?
    var listeners = ListenerList<NavigationState>()
    private var handle: RegistrationHandle?

    mutating func use(_ navigator: any Navigator, _ handle: RegistrationHandle?) {
        self.handle?.cancel()
        self.handle = handle
        self.navigator = navigator
    }
}

extension Router {
    /// What shows the destinations, for moves; that of the first page that was registered with one, unless set.
    public var navigator: (any Navigator)? { navigation.withLock { $0.navigator } }

    /// Sets the navigator for ``navigate(_:context:)``.
    public func use(_ navigator: any Navigator) {
        let handle = navigator.observeNavigation { [weak self] state in self?.notify(state) }
        navigation.withLock { $0.use(navigator, handle) }
        if let state = navigator.navigation { notify(state) }
    }

    /// Takes the first navigator of new routes when there is none yet.
    func useNavigator(of routes: [Route]) {
        guard let first = routes.lazy.compactMap(\.navigator).first, navigator == nil else { return }
        use(first)
    }

    private func notify(_ state: NavigationState) { navigation.withLock { $0.listeners }.notify(state) }

    /// Calls the listener with each new state of the navigator, also of one that is set later; on the thread of the
    /// change, or on the actor that it belongs to.
    @discardableResult
    public func observeNavigation(
        @_inheritActorContext _ listener: @escaping @isolated(any) @Sendable (NavigationState) -> Void
    ) -> RegistrationHandle {
        let listener = Listener(listener)
        let id = navigation.withLock { $0.listeners.add(listener) }
        return RegistrationHandle(of: listener) { [weak self] in
            self?.navigation.withLock { $0.listeners.remove(id) }
        }
    }

    /// What ``observeNavigation(_:)`` gives, as a stream.
    ///
    /// - Parameter limit: The most states that wait to be taken; 1 unless set, the newest.
    public func navigationStates(buffering limit: Int = 1) -> EventStream<NavigationState> {
        EventStream(buffering: limit) { observeNavigation($0) }
    }

    /// Goes back, or to another tab.
    ///
    /// - Returns: Whether anything changed.
    /// - Throws: 404 `NO_NAVIGATOR` when nothing shows screens here; what the navigator throws.
    @discardableResult
    nonisolated(nonsending) public func navigate(
        _ move: NavigationMove, context: OpenContext = .init()
    ) async throws(Failure) -> Bool {
        guard let navigator else { throw Failure(.noNavigator, "this program has no navigator") }
        let scope = try OpenScope.current.entered(by: move.name)
        return try await HandlerBody.waiting { try await navigator.move($0) }.call(
            with: move, HandlerStart(isIdempotent: move.isIdempotent, subject: move.name), context,
            within: configuration.handlerDeadline, clock: configuration.clock, scope: scope,
            unless: { false }
        )?.get() ?? false
    }
}
