import Threading

/// Shows destinations: on a screen, in a model, on another machine.
public protocol Navigator: Sendable {
    /// Shows a screen as its presentation says; what it returns is the value of the open.
    func show(_ screen: Screen) async throws -> JSONValue?
    /// The same with the native values of this one call, for instance how to animate it; leaves them out unless
    /// declared.
    func show(_ screen: Screen, objects: [String: any Sendable]) async throws -> JSONValue?
    /// Goes back, or to another tab; returns whether anything changed. Refuses with `NO_NAVIGATOR` unless declared.
    func move(_ move: NavigationMove) async throws -> Bool
    /// What is shown at this moment; nil, for a navigator that does not say it, unless declared.
    var navigation: NavigationState? { get }
    /// Calls the listener with each new state; does nothing unless declared.
    func observeNavigation(_ listener: @escaping @Sendable (NavigationState) -> Void) -> RegistrationHandle?
}

extension Navigator {
    /// Shows the screen without the native values.
    public func show(_ screen: Screen, objects: [String: any Sendable]) async throws -> JSONValue? {
        try await show(screen)
    }

    /// Refuses every move.
    public func move(_ move: NavigationMove) async throws -> Bool {
        throw Failure(.noNavigator, "the navigator of this program cannot go \(move.name)")
    }

    /// Nil.
    public var navigation: NavigationState? { nil }

    /// Nil; the listener is never called.
    public func observeNavigation(
        _ listener: @escaping @Sendable (NavigationState) -> Void
    ) -> RegistrationHandle? { nil }
}

/// Navigation without a screen: a model of tabs, stacks and modals that follows the opens.
///
///     let stack = NavigationStack(tabs: 3)
///     try router.register(.page("myapp://orders/:id", name: "OrderScreen", in: stack))
///     _ = await router.open("myapp://orders/42?jumpType=0")
///     stack.state.top?.name    // "OrderScreen", as a modal
public final class NavigationStack: Navigator {
    private let current: Guarded<NavigationState>
    private let listeners = Guarded(ListenerList<NavigationState>())

    /// A model with that many tabs.
    public init(tabs: Int = 1) {
        current = Guarded(NavigationState(tabs: tabs))
    }

    /// A model that goes on from a state that was kept.
    public init(restoring state: NavigationState) { current = Guarded(state) }

    /// What is shown at this moment.
    public var state: NavigationState { current.withLock { $0 } }

    /// Shows a screen; the value is the new state as JSON.
    public func show(_ screen: Screen) async throws -> JSONValue? {
        try change { state throws(Failure) in try state.show(screen) }
        return state.json
    }

    /// Goes back, or to another tab; whether anything changed.
    @discardableResult
    public func move(_ move: NavigationMove) async throws -> Bool {
        try change { state throws(Failure) in try state.move(move) }
    }

    /// The state.
    public var navigation: NavigationState? { state }

    /// The same as ``observe(_:)``.
    public func observeNavigation(
        _ listener: @escaping @Sendable (NavigationState) -> Void
    ) -> RegistrationHandle? { observe(listener) }

    /// Removes the screen in front and returns it; nil when only a root is left.
    @discardableResult
    public func pop() -> Screen? { change { $0.pop() } }

    /// Closes the modal in front; false when there is none.
    @discardableResult
    public func dismiss() -> Bool { change { $0.dismiss() } }

    /// Calls the listener with each new state, on the thread of the change, or on the actor that it belongs to.
    @discardableResult
    public func observe(
        @_inheritActorContext _ listener: @escaping @isolated(any) @Sendable (NavigationState) -> Void
    ) -> RegistrationHandle {
        let listener = Listener(listener)
        let id = listeners.withLock { $0.add(listener) }
        return RegistrationHandle(of: listener) { [weak self] in self?.listeners.withLock { $0.remove(id) } }
    }

    private func change<Result: Sendable, Failure: Error>(
        _ body: (inout NavigationState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (result, state) = try current.withLock { (state) throws(Failure) -> (Result, NavigationState) in
            (try body(&state), state)
        }
        listeners.withLock { $0 }.notify(state)
        return result
    }
}
