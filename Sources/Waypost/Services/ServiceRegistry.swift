import Synchronization
import Threading

/// Whether all callers get the same instance of a service.
public enum ServiceLifetime: Sendable, Hashable {
    /// One instance, created when it is first needed.
    case shared
    /// A new instance for each fetch and each call.
    case perCall
}

/// Finds services by type and by name, and runs their exposed methods for callers from outside.
///
/// Fetching is typed and local; calling is by name, decoded, and open only to what was exposed.
public final class ServiceRegistry: Sendable {
    struct State {
        var byType: [ObjectIdentifier: ServiceEntry] = [:]
        var byName: [String: ServiceEntry] = [:]
        var exposed: [String: CallableService] = [:]
        var allowed: Set<String>?
        var listeners = ListenerList<ServiceEvent>()
        var changes = ListenerList<Void>()
        var hooks: [CallHook] = []
        var lastHook: UInt64 = 0
        /// The modules of routers, by router.
        var modules: [ObjectIdentifier: Modules] = [:]
        /// What the maps of routers do to calls, by router.
        var maps: [ObjectIdentifier: CallMaps] = [:]
    }

    /// What a call has to wait for.
    struct Modules: Sendable {
        /// Waits no longer than the deadline, which counts from the start, a time of ``MonotonicTime/continuous``; gives
        /// the reason when a call can't go on.
        typealias Wait =
            nonisolated(nonsending) @Sendable (_ deadline: Duration?, _ start: UInt64) async -> Failure?

        /// Whether some that are needed are not set up.
        var mustWait: @Sendable (ModuleNeed) -> Bool
        /// Waits for them.
        var wait:
            nonisolated(nonsending) @Sendable (ModuleNeed, _ deadline: Duration?, _ start: UInt64)
                async -> Failure?

        /// The wait for these; nil when it is over.
        func wait(for need: ModuleNeed) -> Wait? {
            guard mustWait(need) else { return nil }
            return { await wait(need, $0, $1) }
        }
    }

    let state = Guarded(State())
    /// Whether there are hooks, or maps that reach calls: a call without them takes no lock for it.
    let isGuarded = Atomic(false)
    /// Whether anybody listens, for the same reason.
    let isHeard = Atomic(false)
    /// How often maps of calls have changed.
    let mapChanges = Atomic<UInt64>(0)
    let clock: any Clock<Duration>
    private let creation = Guarded(())

    /// What this task is making, so that a factory may fetch other services, but not itself.
    @TaskLocal private static var making: [ObjectIdentifier] = []

    /// A registry; calls measure their deadlines with the clock.
    public init(clock: any Clock<Duration> = ContinuousClock()) {
        self.clock = clock
    }

    // MARK: Registering

    /// Registers how to make a service; an earlier one of the type or name is replaced.
    ///
    /// The factory runs when the service is first needed, only once even when several threads need it at the same time.
    /// One that belongs to an actor runs there: calls from outside and ``fetch(_:within:)`` go there, and
    /// ``fetch(_:isolation:)`` must be called there until the service is made.
    /// - Parameters:
    ///   - type: The type under which it is fetched, often a protocol: `(any Clock).self`.
    ///   - name: The name; the type's unless given.
    ///   - lifetime: `.shared` unless given.
    ///   - make: The factory; when it throws, it is called again the next time.
    public func register<Service: Sendable>(
        _ type: Service.Type, name: String? = nil, lifetime: ServiceLifetime = .shared,
        @_inheritActorContext make: @escaping @isolated(any) @Sendable () throws -> Service
    ) {
        register([ServiceProvider(type, name: name, lifetime: lifetime, make: make)])
    }

    /// Registers several services in one step.
    public func register(_ providers: [ServiceProvider]) {
        state.withLock { state in
            for provider in providers {
                state.byType[provider.entry.type] = provider.entry
                state.byName[provider.entry.name] = provider.entry
            }
        }
    }

    /// Registers a service that exists already.
    public func register<Service: Sendable>(_ type: Service.Type, name: String? = nil, instance: Service) {
        register(type, name: name) { instance }
    }

    /// Removes the service of that type, also by name; calls of its exposed methods then end in 404.
    @discardableResult
    public func unregister<Service>(_ type: Service.Type) -> Bool {
        state.withLock { state in
            guard let entry = state.byType.removeValue(forKey: ObjectIdentifier(type)) else { return false }
            if state.byName[entry.name] === entry { state.byName[entry.name] = nil }
            return true
        }
    }

    /// Removes the service of that name, and its exposed methods.
    @discardableResult
    public func unregister(named name: String) -> Bool {
        let (wasExposed, wasKnown) = state.withLock { state in
            let wasExposed = state.exposed.removeValue(forKey: name) != nil
            guard let entry = state.byName.removeValue(forKey: name) else { return (wasExposed, false) }
            if state.byType[entry.type] === entry { state.byType[entry.type] = nil }
            return (wasExposed, true)
        }
        if wasExposed { notifyChange() }
        return wasExposed || wasKnown
    }

    /// Releases the instances; new ones are created when they are needed.
    public func forgetInstances() {
        let entries = state.withLock { Array($0.byType.values) + Array($0.byName.values) }
        for entry in entries { entry.made.withLock { $0 = nil } }
    }

    // MARK: Fetching

    /// The service of that type, which is made if it is not yet.
    ///
    ///     let config = try registry.fetch((any AppConfigServiceProtocol).self)
    ///
    /// It does not wait for modules; ``fetch(_:within:)`` does.
    /// - Parameters:
    ///   - type: The type under which it is registered.
    ///   - actor: Where this is called; need not be given.
    /// - Throws: `Failure` 404 when it is not registered, 503 `MODULE` when the module that brings it is not set up, 500
    ///   when its factory needs the service itself, or belongs to another actor; and what its factory throws.
    public func fetch<Service>(
        _ type: Service.Type = Service.self, isolation actor: isolated (any Actor)? = #isolation
    ) throws -> Service {
        try instance(of: type, on: actor)
    }

    /// The service of that type, after the module that brings it was set up.
    ///
    ///     let orders = try await registry.fetch(Orders.self, within: .seconds(5))
    ///
    /// It sets declared modules up as an open does. In a set-up it does not wait.
    /// - Parameters:
    ///   - type: The type under which it is registered.
    ///   - deadline: How long it waits for the module, or for all modules as long as nothing brings the type; nil to wait
    ///     until they are set up or have failed.
    /// - Throws: `Failure` 408 that names the module when the time is up, 503 `MODULE` when the module failed, 499 when
    ///   this task is cancelled meanwhile; and what ``fetch(_:isolation:)`` throws.
    nonisolated(nonsending) public func fetch<Service: Sendable>(
        _ type: Service.Type = Service.self, within deadline: Duration?
    ) async throws -> Service {
        let start = MonotonicTime.continuous
        while true {
            let (entry, known) = state.withLock { ($0.byType[ObjectIdentifier(type)], $0.modules) }
            let wait = entry == nil ? Self.waitForAll(known) : Self.wait(for: entry?.module, known)
            guard let wait else { break }
            if let failure = await wait(deadline, start) { throw failure }
        }
        let entry = entry(of: ObjectIdentifier(type))
        guard let actor = entry?.actor else { return try instance(of: type, from: entry, on: nil) }
        return try await fetch(type, from: entry, isolation: actor)
    }

    private func fetch<Service: Sendable>(
        _ type: Service.Type, from entry: ServiceEntry?, isolation actor: isolated any Actor
    ) async throws -> Service {
        try instance(of: type, from: entry, on: actor)
    }

    /// The service of that name, as ``fetch(_:isolation:)`` gives that of a type.
    public func fetch(
        named name: String, isolation actor: isolated (any Actor)? = #isolation
    ) throws -> any Sendable {
        guard let entry = state.withLock({ $0.byName[name] }) else { throw Failure.noService(name) }
        return try instance(from: entry, on: actor)
    }

    /// How to get the service whose method of an exposed one is called: what its module brings goes before what another
    /// module does.
    func entry(of type: ObjectIdentifier, exposedBy service: CallableService) -> ServiceEntry? {
        let entry = entry(of: type)
        guard let other = entry?.module, other !== service.module else { return entry }
        return service.entries.first { $0.type == type } ?? entry
    }

    /// The service of that type, for one who runs on that actor.
    func instance<Service>(of type: Service.Type, on actor: (any Actor)?) throws -> Service {
        try instance(of: type, from: entry(of: ObjectIdentifier(type)), on: actor)
    }

    func instance<Service>(
        of type: Service.Type, from entry: ServiceEntry?, on actor: (any Actor)?
    ) throws -> Service {
        guard let entry else { throw Failure.noService(Self.name(of: type)) }
        // With `as?`, the type of an optional service would be looked up each time.
        switch try instance(from: entry, on: actor) {
        case let service as Service: return service
        default: throw Failure.handlerFailed("\(entry.name) is not a \(type)")
        }
    }

    private func entry(of type: ObjectIdentifier) -> ServiceEntry? { state.withLock { $0.byType[type] } }

    /// The instance, for one who runs on that actor.
    func instance(from entry: ServiceEntry, on actor: (any Actor)?) throws -> any Sendable {
        if let module = entry.module, let obstacle = module.obstacle, !module.isSettingUpHere {
            throw Failure(.module, obstacle)
        }
        if entry.lifetime == .shared, let made = entry.made.withLock({ $0 }) { return made }
        let making = Self.making
        guard !making.contains(ObjectIdentifier(entry)) else {
            throw Failure.handlerFailed("the factory of \(entry.name) needs \(entry.name) itself")
        }
        if let needed = entry.actor, needed !== actor {
            throw Failure.handlerFailed(
                "\(entry.name) is made on \(type(of: needed)): fetch it there first, or with fetch(_:within:)"
            )
        }
        // One lock for all creations: with one per service, two services that need each other would lock two
        // threads without end. Inside a creation this task holds it already.
        guard making.contains(ObjectIdentifier(self)) else {
            return try creation.withLock { _ in
                try Self.$making.withValue(making + [ObjectIdentifier(self), ObjectIdentifier(entry)]) {
                    try entry.instance()
                }
            }
        }
        return try Self.$making.withValue(making + [ObjectIdentifier(entry)]) { try entry.instance() }
    }

    static func name<Service>(of type: Service.Type) -> String {
        let name = String(describing: type)
        return name.hasPrefix("any ") ? String(name.dropFirst(4)) : name
    }
}

/// A service and its factory, for registering several at once.
public struct ServiceProvider: Sendable {
    let entry: ServiceEntry

    /// A service that is created when it is first needed; see `ServiceRegistry.register(_:name:lifetime:make:)`.
    public init<Service: Sendable>(
        _ type: Service.Type, name: String? = nil, lifetime: ServiceLifetime = .shared,
        @_inheritActorContext make: @escaping @isolated(any) @Sendable () throws -> Service
    ) {
        self.init(type, name: name, lifetime: lifetime, on: make.isolation, unisolated(factory: make))
    }

    /// One whose factory may only be called on this actor; anywhere when there is none.
    init<Service: Sendable>(
        _ type: Service.Type, name: String?, lifetime: ServiceLifetime, on actor: (any Actor)?,
        _ make: @escaping @Sendable () throws -> Service
    ) {
        entry = ServiceEntry(
            type: ObjectIdentifier(type), name: name ?? ServiceRegistry.name(of: type), lifetime: lifetime,
            actor: actor, make: make)
    }
}

/// How to get a service, and the instance when there is one.
final class ServiceEntry: Sendable {
    let type: ObjectIdentifier
    let name: String
    let lifetime: ServiceLifetime
    /// The module that brought it.
    let module: DeclaredModule?
    /// Where its factory runs; anywhere when there is none.
    let actor: (any Actor)?
    let made = Guarded<(any Sendable)?>(nil)
    private let make: @Sendable () throws -> any Sendable

    init(
        type: ObjectIdentifier, name: String, lifetime: ServiceLifetime, actor: (any Actor)?,
        module: DeclaredModule? = nil, make: @escaping @Sendable () throws -> any Sendable
    ) {
        self.type = type
        self.name = name
        self.lifetime = lifetime
        self.actor = actor
        self.module = module
        self.make = make
    }

    /// The same, brought by a module.
    func brought(by module: DeclaredModule?) -> ServiceEntry {
        guard let module else { return self }
        return ServiceEntry(
            type: type, name: name, lifetime: lifetime, actor: actor, module: module, make: make)
    }

    func instance() throws -> any Sendable {
        guard lifetime == .shared else { return try make() }
        if let made = made.withLock({ $0 }) { return made }
        let new = try make()
        made.withLock { $0 = new }
        return new
    }
}
