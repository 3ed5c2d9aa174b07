import Synchronization
import Threading

/// Finds the destination of a URL and opens it.
///
///     let router = Router()
///     try router.register("myapp://orders/:id") { request in
///         let id = try request.parameters.value("id", as: Int.self)
///         return .opened(.string("order \(id)"))
///     }
///     let opening = await router.open("myapp://orders/42")
///
/// All functions may be called from any thread at any time. An open works on a snapshot: it never waits for changes, and
/// sees all of a change or nothing of it.
public final class Router: RouteRegistrar, Sendable {
    /// A shared router, for programs that need only one; nothing else uses it.
    public static let shared = Router()

    /// The settings, fixed.
    public let configuration: RouterConfiguration
    /// The services that service URLs call.
    public var services: ServiceRegistry {
        loadLinked()
        return registry
    }

    let registry: ServiceRegistry
    /// Whether its own opens are spans; the configuration's tracer is copied to see that.
    let isTraced: Bool
    private let current: Guarded<RouterSnapshot>
    // Writers take turns here, not under `current`: making a new table must not hold a reader.
    private let writing = Guarded<UInt64>(0)
    let listeners = Guarded(RouterListeners())
    /// False until the first listener of opens is added: an open without one takes no lock for it.
    let hasListeners = Atomic(false)
    let history: Guarded<OpenHistory>
    let waiting = Guarded(WaitingOpens())
    let navigation = Guarded(Navigation())
    let modules: ModuleLoader
    let linked: LinkedLoader

    /// A router without routes.
    public init(configuration: RouterConfiguration = .init(), services: ServiceRegistry = ServiceRegistry()) {
        self.configuration = configuration
        registry = services
        isTraced = configuration.tracer != nil
        modules = ModuleLoader(clock: configuration.clock)
        linked = LinkedLoader(skips: !configuration.registersLinked)
        current = Guarded(RouterSnapshot(RouterState(configuration, services: services)))
        history = Guarded(OpenHistory(length: configuration.historyLength))
    }

    // Services may be shared, and outlive it.
    deinit { registry.follow(nil, of: ObjectIdentifier(self)) }

    /// Everything at this moment; held as one reference, for a copy of the state is some twenty.
    var snapshot: RouterSnapshot {
        loadLinked()
        return current.withLock { $0 }
    }

    /// The state at this moment.
    package var state: RouterState { snapshot.state }

    /// Makes the next state; when `change` throws, the old one stays.
    ///
    /// `change` gets a number that no other change gets.
    private func update<Result, Failure: Error>(
        _ change: (inout RouterState, UInt64) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        loadLinked()
        return try swap(change)
    }

    /// The same for what listeners hear of as a change of what is registered.
    private func register<Result, Failure: Error>(
        _ change: (inout RouterState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = try update { (state, _) throws(Failure) in try change(&state) }
        notifyChange()
        return result
    }

    /// The same as ``update(_:)``, and does not look at what was declared without a list.
    func swap<Result, Failure: Error>(
        _ change: (inout RouterState, UInt64) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try writing.withLock { (number) throws(Failure) -> Result in
            var next = current.withLock { $0 }.state
            number += 1
            let result = try change(&next, number)
            set(next)
            return result
        }
    }

    /// Puts a state in force; false when the one that it was made from is not in force any more.
    private func swap(_ old: RouterSnapshot, for next: RouterState) -> Bool {
        writing.withLock { _ in
            guard current.withLock({ $0 === old }) else { return false }
            set(next)
            return true
        }
    }

    private func set(_ next: RouterState) {
        let snapshot = RouterSnapshot(next)
        // The old snapshot is let go of outside the lock: freeing a large table takes a while.
        let old = current.withLock { current in
            let old = current
            current = snapshot
            return old
        }
        // Calls follow the maps before the change returns.
        guard !(next.plan.calls.isEmpty && old.state.plan.calls.isEmpty) else { return }
        let maps = next.plan.calls.isEmpty ? nil : CallMaps(rules: next.plan.calls, context: next.context)
        registry.follow(maps, of: ObjectIdentifier(self))
    }

    // MARK: Registering

    /// Registers routes in one step; see ``RouteRegistrar/register(_:replacing:)``.
    @discardableResult
    public func register(
        _ routes: [Route], replacing: Bool
    ) throws(RegistrationError) -> RegistrationHandle {
        let added = try register { (state) throws(RegistrationError) in
            try state.add(routes, replacing: replacing)
        }
        useNavigator(of: routes)
        return RegistrationHandle(replaced: added.replaced) { [weak self] in
            self?.register { $0.remove(added) }
        }
    }

    /// Removes the routes with exactly this pattern; false when there is none.
    @discardableResult
    public func unregister(_ pattern: RouteKey) -> Bool {
        register { $0.remove(pattern) }
    }

    /// Whether a relocation entry may name this destination.
    package func knows(_ className: String) -> Bool {
        !state.destinations(named: [className]).isEmpty
    }

    /// The names of all destinations.
    var destinationNames: [String] { state.destinationNames.sorted() }

    /// The routes in force, after relocation, by path.
    public var routes: [RouteDescription] {
        state.routes.records.map(\.description).sorted { ($0.path, -$0.priority) < ($1.path, -$1.priority) }
    }

    /// How many routes are in force.
    package var routeCount: Int { state.routes.count }

    // MARK: Relocating

    /// Checks these layers as a whole, and changes nothing.
    ///
    /// A target in a scheme that no registered route has is no mistake: such an entry is inactive.
    /// - Parameter layers: The later over the earlier.
    /// - Throws: ``RelocationError`` for a bad entry, for redirects in a circle or too many in a row, and for what the
    ///   configuration's ``RouterConfiguration/allowedSchemes`` or ``RouterConfiguration/allowedHosts`` forbid.
    func compile(_ layers: [RelocationLayer]) throws(RelocationError) -> CompiledRelocation {
        try CompiledRelocation(layers, for: state)
    }

    /// The same for the layers that an agent lays over the program's own.
    package func compile(delivered layers: [RelocationLayer]) throws(RelocationError) -> CompiledRelocation {
        try CompiledRelocation(layers, isDelivery: true, for: state)
    }

    /// Replaces the program's own layers by these, in one step.
    ///
    /// Layers that an agent delivers lie over them and stay.
    /// - Returns: How many entries there are, and which do nothing in this build.
    @discardableResult
    package func install(_ compiled: CompiledRelocation) -> RelocationReport {
        // Made outside the lock, and again when something changed meanwhile; at last under it, so that this ends.
        for _ in 0..<3 {
            let before = snapshot
            var state = before.state
            let report = state.install(compiled)
            if swap(before, for: state) { return report }
        }
        return update { state, _ in state.install(compiled) }
    }

    /// What a map would do here, for a client of that name, without putting it in force.
    package func report(_ compiled: CompiledRelocation, for agent: String?) -> RelocationReport {
        var state = state
        if let agent { state.context.agent = agent }
        return state.install(compiled)
    }

    /// Compiles layers and installs them.
    ///
    /// - Throws: ``RelocationError``; the layers in force stay.
    @discardableResult
    public func relocate(_ layers: [RelocationLayer]) throws(RelocationError) -> RelocationReport {
        install(try compile(layers))
    }

    /// Adds entries to a layer of the program's own, TheRouter's `addRelocationHandle`: a later entry takes the place
    /// of an earlier one about the same path, and all others stay.
    ///
    /// - Parameters:
    ///   - entries: The entries.
    ///   - layer: The layer; one of a new name lies over those before.
    /// - Returns: How many entries there are, and which do nothing in this build.
    /// - Throws: ``RelocationError``, also for more than 2 000 entries in the layer; the layers in force stay.
    @discardableResult
    public func patch(
        _ entries: [RelocationEntry], layer: String = "program"
    ) throws(RelocationError) -> RelocationReport {
        try update { (state, _) throws(RelocationError) in
            var layers = state.builtIn
            let index = layers.firstIndex { $0.name == layer } ?? layers.count
            if index == layers.count { layers.append(RelocationLayer(name: layer, entries: [])) }
            layers[index].patch(entries)
            guard layers[index].entries.count <= RelocationLayer.maximumPatched else {
                throw RelocationError(
                    .tooLarge, layer: layer,
                    detail:
                        "\(layers[index].entries.count) entries; at most \(RelocationLayer.maximumPatched) are allowed"
                )
            }
            return state.install(try CompiledRelocation(layers, for: state))
        }
    }

    /// What the conditions of maps ask about this client.
    package var relocationContext: RelocationContext { state.context }

    /// Changes what the conditions of maps ask about this client, for instance its locale; maps in force follow at once.
    ///
    /// Listeners of ``observe(_:)`` are warned once of a build that is no version.
    public func updateRelocationContext(_ change: (inout RelocationContext) -> Void) {
        if let fault = register({ $0.updateContext(change) }) {
            notify(RouterEvent(.warned, url: "", detail: fault))
        }
    }

    /// Keeps values of these keys out of the reasons why entries of maps apply or do not.
    package func redact(_ redaction: Redaction) { register { $0.context.redaction = redaction } }

    /// The layers in force: the program's own, and over them those of an agent.
    public var layers: [RelocationLayer] { state.layers }

    /// The program's own among them.
    package var ownLayers: [RelocationLayer] { state.builtIn }

    /// By layer and index, the entries in force that nothing looks at, each with the entry that takes its place.
    package var hiddenEntries: [String: [Int: String]] {
        state.plan.hidden.reduce(into: [:]) { $0[$1.key.layer, default: [:]][$1.key.index] = $1.value.text }
    }

    // MARK: Intercepting

    func add(_ hook: (UInt64) -> OpenHook) -> RegistrationHandle {
        let id = update { state, number in
            state.hooks.append(hook(number))
            return number
        }
        return RegistrationHandle { [weak self] in
            self?.update { state, _ in state.hooks.removeAll { $0.id == id } }
        }
    }

    func addGate(_ gate: (UInt64) -> Interceptor) -> RegistrationHandle {
        let id = update { state, number in
            state.gates.append(gate(number))
            return number
        }
        notifyChange()
        return RegistrationHandle { [weak self] in
            self?.register { $0.gates.removeAll { $0.id == id } }
        }
    }

    /// Adds an interceptor: it is asked after the route of an open was found, and before its handler runs.
    ///
    /// - Parameters:
    ///   - name: Its name in outcomes and logs.
    ///   - priority: An interceptor with a higher priority is asked first; equal ones in the order of adding.
    ///   - scope: Which opens it sees; all unless set.
    ///   - deadline: How long it may take; the configuration's unless set. Later the open fails with 408.
    ///   - interceptor: The decision.
    /// - Returns: A handle whose `cancel()` removes it.
    /// - Throws: ``RegistrationError`` when a pattern or the URL of a subtree is not valid.
    @discardableResult
    public func intercept(
        _ name: String = "interceptor", priority: Int = 0, scope: InterceptorScope = .all,
        deadline: Duration? = nil,
        @_inheritActorContext _ interceptor:
            nonisolated(nonsending) @escaping @Sendable (RouteRequest) async throws -> InterceptorDecision
    ) throws(RegistrationError) -> RegistrationHandle {
        try add(.waiting(interceptor), name, priority, scope, deadline)
    }

    /// The same for an interceptor without `await`, which runs in place.
    @discardableResult
    public func intercept(
        _ name: String = "interceptor", priority: Int = 0, scope: InterceptorScope = .all,
        deadline: Duration? = nil,
        @_inheritActorContext _ interceptor:
            @escaping @isolated(any) @Sendable (RouteRequest) throws -> InterceptorDecision
    ) throws(RegistrationError) -> RegistrationHandle {
        try add(HandlerBody(interceptor), name, priority, scope, deadline)
    }

    private func add(
        _ work: HandlerBody<RouteRequest, InterceptorDecision>, _ name: String, _ priority: Int,
        _ scope: InterceptorScope, _ deadline: Duration?
    ) throws(RegistrationError) -> RegistrationHandle {
        let deadline = deadline ?? configuration.interceptorDeadline
        let id = try update { (state, number) throws(RegistrationError) -> UInt64 in
            let hook = Hook(id: number, name: name, deadline: deadline, work: work)
            state.insert(try Interceptor(hook, priority: priority, scope: scope, for: state))
            return number
        }
        return RegistrationHandle { [weak self] in
            self?.update { state, _ in state.interceptors.removeAll { $0.id == id } }
        }
    }
}
