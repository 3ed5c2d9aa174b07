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
        throw RouteFailure(.noNavigator, "the navigator of this program can not go \(move.name)")
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
///     try router.register(page: "myapp://orders/:id", name: "OrderScreen", in: stack)
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
        try change { state throws(Rejection) in try state.show(screen) }
        return state.json
    }

    /// Goes back, or to another tab; whether anything changed.
    @discardableResult
    public func move(_ move: NavigationMove) async throws -> Bool {
        try change { state throws(Rejection) in try state.move(move) }
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

    /// Calls the listener with each new state.
    @discardableResult
    public func observe(_ listener: @escaping @Sendable (NavigationState) -> Void) -> RegistrationHandle {
        let id = listeners.withLock { $0.add(listener) }
        return RegistrationHandle { [weak self] in self?.listeners.withLock { $0.remove(id) } }
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

extension Route {
    /// A page that a navigator shows.
    public static func page(
        _ pattern: String, name: String? = nil, priority: Int = 0, in navigator: any Navigator,
        jumpType: JumpType? = nil, redirect: Redirect? = nil
    ) -> Route {
        Route(
            pattern, name: name, priority: priority, kind: .page, idempotent: true, jumpType: jumpType,
            redirect: redirect
        ) { request in
            let screen = Screen(request, name: name)
            return .opened(try await navigator.show(screen, objects: request.parameters.objects))
        }
    }
}

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
    /// What shows the destinations, for moves; the one of the first page that was registered in one, unless set.
    public var navigator: (any Navigator)? { navigation.withLock { $0.navigator } }

    /// Sets the navigator for ``navigate(_:context:)``.
    public func use(_ navigator: any Navigator) {
        let handle = navigator.observeNavigation { [weak self] state in self?.notify(state) }
        navigation.withLock { $0.use(navigator, handle) }
        if let state = navigator.navigation { notify(state) }
    }

    private func notify(_ state: NavigationState) { navigation.withLock { $0.listeners }.notify(state) }

    /// Calls the listener with each new state of the navigator, also of one that is set later.
    @discardableResult
    public func observeNavigation(
        _ listener: @escaping @Sendable (NavigationState) -> Void
    ) -> RegistrationHandle {
        let id = navigation.withLock { $0.listeners.add(listener) }
        return RegistrationHandle { [weak self] in self?.navigation.withLock { $0.listeners.remove(id) } }
    }

    /// Goes back, or to another tab.
    ///
    /// - Returns: whether anything changed; 404 `NO_NAVIGATOR` when nothing shows screens here.
    public func navigate(
        _ move: NavigationMove, context: OpenContext = .init()
    ) async -> Result<Bool, RouteFailure> {
        guard let navigator else {
            return .failure(RouteFailure(.noNavigator, "this program has no navigator"))
        }
        do {
            if let beforeHandler = context.beforeHandler {
                try await beforeHandler(.init(isIdempotent: move.isIdempotent, subject: move.name))
                try Task.checkCancellation()
            }
            let limit = WorkLimit(
                context.deadline ?? configuration.handlerDeadline, isTimedByCaller: context.isTimedByCaller)
            let scope = try OpenScope.current.entered(by: move.name)
            switch await withDeadline(
                limit, clock: configuration.clock, scope: scope, { try await navigator.move(move) })
            {
            case .finished(.success(let moved)): return .success(moved)
            case .finished(.failure(let error)): throw error
            case .canceled: return .failure(.canceled(move.name))
            case .deadline: return .failure(.deadline(move.name, limit.duration))
            }
        } catch let failure as RouteFailure {
            return .failure(failure)
        } catch let rejection as Rejection {
            return .failure(RouteFailure(rejection.code, rejection.detail))
        } catch let failure as ServiceFailure {
            return .failure(RouteFailure(failure))
        } catch is CancellationError {
            return .failure(.canceled(move.name))
        } catch {
            return .failure(.handler("\(move.name) failed: \(error)"))
        }
    }
}

extension Router {
    /// Registers a page that a navigator shows.
    public func register(
        page pattern: String, name: String? = nil, priority: Int = 0, in navigator: any Navigator,
        jumpType: JumpType? = nil, redirect: Route.Redirect? = nil
    ) throws(RegistrationError) {
        try register([
            .page(
                pattern, name: name, priority: priority, in: navigator, jumpType: jumpType, redirect: redirect
            )
        ])
        if self.navigator == nil { use(navigator) }
    }
}
