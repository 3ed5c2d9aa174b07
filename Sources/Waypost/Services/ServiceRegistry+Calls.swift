import Synchronization
import Threading

extension ServiceRegistry {
    /// Makes the methods of a service callable from outside.
    ///
    /// - Throws: `RegistrationError.badService` when a method's name is not valid or does not fit its closure,
    ///   when two methods share a name, or when the service's name is taken and `replacing` is false.
    public func expose(_ service: ExposedService, replacing: Bool = false) throws(RegistrationError) {
        try add([service], replacing: replacing)
        notifyChange()
    }

    /// Exposes several services in one step: all of them, or none when one is refused.
    public func expose(_ services: [ExposedService]) throws(RegistrationError) {
        try add(services)
        notifyChange()
    }

    /// The same as ``expose(_:)``, but notifies no listener; with services of a module that are not exposed.
    func add(
        _ services: [ExposedService], _ providers: [ServiceProvider] = [], of module: DeclaredModule? = nil,
        replacing: Bool = false
    ) throws(RegistrationError) {
        var added: [CallableService] = []
        for service in services {
            added.append(
                try CallableService(service, providers: service.providers(self), module: module))
        }
        try state.withLock { (state) throws(RegistrationError) in
            var exposed = state.exposed
            for service in added {
                guard exposed.updateValue(service, forKey: service.name) == nil || replacing else {
                    throw .badService(service.name, detail: "a service with this name is already exposed")
                }
            }
            state.exposed = exposed
            let entries = added.flatMap(\.entries) + providers.map { $0.entry.brought(by: module) }
            for entry in entries where state.byType[entry.type] == nil {
                state.byType[entry.type] = entry
                state.byName[entry.name] = entry
            }
        }
    }

    /// Takes away what a module brought: what it exposed, and how to make its services.
    func close(_ module: DeclaredModule) {
        state.withLock { state in
            state.exposed = state.exposed.filter { $0.value.module !== module }
            state.byType = state.byType.filter { $0.value.module !== module }
            state.byName = state.byName.filter { $0.value.module !== module }
        }
    }

    /// Calls `body` after each change of what is exposed.
    func onChange(_ body: @escaping @Sendable () -> Void) -> RegistrationHandle {
        let id = state.withLock { $0.changes.add(Listener(body)) }
        return RegistrationHandle { [weak self] in self?.state.withLock { $0.changes.remove(id) } }
    }

    func notifyChange() {
        let changes = state.withLock { $0.changes }
        changes.notify(())
    }

    /// Has each call wait for modules first.
    func wait(for modules: Modules, of router: ObjectIdentifier) {
        state.withLock { $0.modules[router] = modules }
    }

    /// Allows only these names to be called from outside: `Service`, or `Service.add(a:b:)`.
    ///
    /// Nil, the default, allows everything that is exposed.
    public func allowOnly(_ names: Set<String>?) {
        state.withLock { $0.allowed = names }
    }

    /// All services that may be called from outside, by name.
    public var services: [ServiceDescription] {
        state.withLock { $0.exposed }
            .map { ServiceDescription(name: $0.key, methods: $0.value.methods.map(\.description)) }
            .sorted { $0.name < $1.name }
    }

    /// The method that a call of these names would run; nil when there is none.
    package func method(_ service: String, _ method: String) -> MethodDescription? {
        try? find(service, method).get().method.description
    }

    /// Calls the listener for each call, on the caller's thread; it must return quickly.
    ///
    /// One that belongs to an actor runs there, in the same order and soon after; see ``RegistrationHandle/dropped``.
    @discardableResult
    public func observe(
        @_inheritActorContext _ listener: @escaping @isolated(any) @Sendable (ServiceEvent) -> Void
    ) -> RegistrationHandle {
        let listener = Listener(listener)
        let id = state.withLock { state in
            isHeard.store(true, ordering: .releasing)
            return state.listeners.add(listener)
        }
        return RegistrationHandle(of: listener) { [weak self] in
            self?.state.withLock { state in
                state.listeners.remove(id)
                self?.isHeard.store(!state.listeners.isEmpty, ordering: .releasing)
            }
        }
    }

    /// What ``observe(_:)`` gives, as a stream.
    ///
    /// - Parameter limit: The most events that wait to be taken; 1 024 unless set.
    public func events(buffering limit: Int = 1_024) -> EventStream<ServiceEvent> {
        EventStream(buffering: limit) { observe($0) }
    }

    /// Runs an exposed method.
    ///
    /// - Parameters:
    ///   - service: The exposed name.
    ///   - method: The Swift name (`add(a:b:)`), its base where unambiguous, or the Objective-C selector.
    ///   - arguments: By position or by label.
    ///   - result: The form of the result.
    ///   - deadline: After this the method is cancelled and the call ends in 408, even if the method goes on; that of
    ///     the context goes before it.
    ///   - context: The caller, and its conditions; the events have its ``OpenContext/ref``.
    /// - Returns: The result; null for a method without one.
    /// - Throws: The failure of the call.
    @discardableResult
    nonisolated(nonsending) public func call(
        _ service: String, _ method: String, arguments: ServiceArguments = .positional([]),
        result: ServiceResultType = .value, deadline: Duration? = .seconds(10), context: OpenContext = .init()
    ) async throws(Failure) -> JSONValue {
        try await call(
            service, method, ArgumentSource(arguments), result: result, deadline: deadline, context: context)
    }

    /// Runs an exposed method with values of the program, and gives its result as a type.
    ///
    ///     let sum = try await services.call("CalculatorService", "add", with: 40, 2, as: Int.self)
    ///
    /// A value of the parameter's type reaches the method as it is; one of another type is written as JSON and read, so
    /// that an integer may stand for a `Double`. Hooks are asked as for each call.
    /// - Parameters:
    ///   - service: The exposed name.
    ///   - method: The Swift name (`add(a:b:)`), its base where unambiguous, or the Objective-C selector.
    ///   - arguments: In the order of the method's parameters.
    ///   - type: The type of the result; `JSONValue.self` takes any. It is left out for a method without a result.
    ///   - deadline: As for ``call(_:_:arguments:result:deadline:context:)``.
    ///   - context: The caller, and its conditions.
    /// - Throws: The failure of the call; `BAD_FIELD` when its result is not of the type, before it runs where that is
    ///   known by then.
    nonisolated(nonsending) public func call<
        each Argument: Encodable & Sendable, Answer: Decodable & SendableMetatype
    >(
        _ service: String, _ method: String, with arguments: repeat each Argument, as type: Answer.Type,
        deadline: Duration? = .seconds(10), context: OpenContext = .init()
    ) async throws(Failure) -> Answer {
        let answer = try await call(
            service, method, ArgumentSource(native: repeat each arguments, result: type), result: .value,
            deadline: deadline, context: context)
        do {
            return try JSONValueDecoder().decode(type, from: answer)
        } catch {
            throw .badField("the result of \(service).\(method) \(DecodingError.reason(of: error))")
        }
    }

    /// Runs an exposed method with values of the program, for what it does; a result is let go of.
    ///
    ///     try await services.call("PrinterService", "print", with: document, 2)
    ///
    /// Values, hooks and failures are those of ``call(_:_:with:as:deadline:context:)``. A method without arguments is
    /// called as `call("PrinterService", "stop")`.
    nonisolated(nonsending) public func call<
        First: Encodable & Sendable, each Argument: Encodable & Sendable
    >(
        _ service: String, _ method: String, with first: First, _ arguments: repeat each Argument,
        deadline: Duration? = .seconds(10), context: OpenContext = .init()
    ) async throws(Failure) {
        _ = try await call(
            service, method, ArgumentSource(native: first, repeat each arguments), result: .none,
            deadline: deadline, context: context)
    }

    /// Runs an exposed method for a call that may lie within another.
    nonisolated(nonsending) private func call(
        _ service: String, _ method: String, _ source: ArgumentSource, result: ServiceResultType,
        deadline: Duration?, context: OpenContext
    ) async throws(Failure) -> JSONValue {
        let scope: OpenScope
        do throws(Failure) {
            scope = try OpenScope.current.entered(by: "\(service).\(method)")
        } catch {
            notify(
                ServiceEvent(
                    kind: .threw, service: service, method: method, ref: context.ref,
                    detail: error.description, code: error.code))
            throw error
        }
        return try await call(
            service, method, source: source, result: result, deadline: deadline, context: context,
            scope: scope
        ).result.get()
    }

    /// Runs an exposed method for a call that lies within the scope.
    // Inlined, for each async function takes memory of the task.
    @inline(__always)
    nonisolated(nonsending) func call(
        _ service: String, _ method: String, source: ArgumentSource, result: ServiceResultType,
        deadline: Duration?, context: OpenContext, scope: OpenScope
    ) async -> CallOutcome {
        let deadline = context.deadline ?? deadline
        while true {
            var (service, method) = (service, method)
            let outcome: CallOutcome
            var (found, answer) = (await findWhenLoaded(service, method, deadline), JSONValue?.none)
            let changes = mapChanges.load(ordering: .acquiring)
            let isGuarded = isGuarded.load(ordering: .acquiring)
            if isGuarded, case .success(let first) = found {
                switch await follow(CallTarget(service: service, found: first), source, deadline) {
                case .success(let target):
                    (service, found, answer) = (target.service, .success(target.found), target.answer)
                case .failure(let failure): found = .failure(failure)
                }
            }
            switch consume found {
            case .success((let found, let callable)):
                method = found.description.name
                if source.answer != nil, let mistake = source.mistake(about: found.description, of: service) {
                    outcome = .failed(mistake)
                    break
                }
                if isGuarded, let end = await ask(service, found, source, context, scope) {
                    outcome = end
                    break
                }
                notify(ServiceEvent(kind: .called, service: service, method: method, ref: context.ref))
                if let answer {
                    outcome = .returned(result.form(of: answer))
                    break
                }
                let entry = found.service.flatMap { self.entry(of: $0, exposedBy: callable) }
                let result = await found.work(from: entry).call(
                    with: ExposedMethod.Call(
                        registry: self, entry: entry, source: source, result: result, context: context),
                    HandlerStart(
                        isIdempotent: found.description.idempotent, subject: "\(service).\(method)"),
                    context, within: deadline, clock: clock, scope: scope,
                    unless: { self.mapChanges.load(ordering: .acquiring) != changes })
                guard let result else { continue }
                outcome = CallOutcome(result)
            case .failure(let failure): outcome = .failed(failure)
            }
            notify(ServiceEvent(outcome, of: service, method, context.ref))
            return outcome
        }
    }

    private func notify(_ event: @autoclosure () -> ServiceEvent) {
        guard isHeard.load(ordering: .acquiring) else { return }
        state.withLock { $0.listeners }.notify(event())
    }

    /// What a call runs after maps, where that may have to wait for modules.
    nonisolated(nonsending) private func follow(
        _ first: CallTarget, _ source: ArgumentSource, _ deadline: Duration?
    ) async -> Result<CallTarget, Failure> {
        var (decisions, mayWait) = ([RelocationDecision]?.none, true)
        while true {
            switch follow(first, source, mayWait: mayWait, &decisions) {
            case .goesOn(let target): return .success(target)
            case .ended(let failure): return .failure(failure)
            case .waits(let other):
                if case .failure(let failure) = await findWhenLoaded(other.service, other.name, deadline) {
                    // What does not exist then is not there for the map either.
                    guard failure.code == .noService || failure.code == .noMethod else {
                        return .failure(failure)
                    }
                    mayWait = false
                }
            }
        }
    }

    /// Finds a method that may run, after the modules that are declared were set up.
    @inline(__always)
    nonisolated(nonsending) private func findWhenLoaded(
        _ service: String, _ method: String, _ deadline: Duration?
    ) async -> Result<Found, Failure> {
        var start: UInt64?
        // First, because who sees a service of a module sees then that the module has to be set up.
        var found = find(service, method)
        while let wait = wait(for: found) {
            let since = start ?? MonotonicTime.continuous
            start = since
            if let failure = await wait(deadline, since) { return .failure(failure) }
            found = find(service, method)
        }
        return found.flatMap { found in
            guard let obstacle = found.service.module?.obstacle else { return .success(found) }
            return .failure(Failure(.module, obstacle))
        }
    }

    /// What a call has to wait for; nil when it may go on.
    func wait(for found: Result<Found, Failure>) -> Modules.Wait? {
        let known = state.withLock { $0.modules }
        if let wait = known.values.lazy.compactMap({ $0.wait(for: .common) }).first { return wait }
        switch found {
        case .success(let found): return Self.wait(for: found.service.module, known)
        case .failure(let failure):
            guard failure.code == .noService || failure.code == .noMethod else { return nil }
            return Self.waitForAll(known)
        }
    }

    /// What has to be waited for before something of that module is in use; nil when there is nothing.
    static func wait(for module: DeclaredModule?, _ known: [ObjectIdentifier: Modules]) -> Modules.Wait? {
        module.flatMap { known[$0.loader]?.wait(for: .module($0)) }
    }

    /// What has to be waited for before it is said that nothing brings something; nil when there is nothing.
    static func waitForAll(_ known: [ObjectIdentifier: Modules]) -> Modules.Wait? {
        known.values.lazy.compactMap { $0.wait(for: .all) }.first
    }

    /// A method, and the service that it belongs to.
    typealias Found = (method: ExposedMethod, service: CallableService)

    func find(_ service: String, _ method: String) -> Result<Found, Failure> {
        let (callable, allowed, names) = state.withLock { state in
            let callable = state.exposed[service]
            return (callable, state.allowed, callable == nil ? Array(state.exposed.keys) : [])
        }
        guard let callable else {
            return .failure(.noService(service, nearest: NearestNames.find(service, among: names)))
        }
        return callable.find(method).flatMap { found in
            guard let allowed, !allowed.contains(service),
                !allowed.contains("\(service).\(found.description.name)")
            else { return .success((found, callable)) }
            return .failure(
                Failure(
                    .notAllowed,
                    "\(service).\(found.description.name) may not be called from outside"))
        }
    }
}

extension ServiceEvent {
    /// The last event of a call.
    fileprivate init(_ outcome: CallOutcome, of service: String, _ method: String, _ ref: String?) {
        switch outcome.result {
        case .success: self.init(kind: .returned, service: service, method: method, ref: ref)
        case .failure(let failure):
            self.init(
                kind: .threw, service: service, method: method, ref: ref, detail: failure.description,
                code: failure.code)
        }
    }
}

/// An exposed service with its methods by all their names.
final class CallableService: Sendable {
    let name: String
    let methods: [ExposedMethod]
    /// How it is made.
    let entries: [ServiceEntry]
    /// The module that brought it.
    let module: DeclaredModule?
    private let byName: [String: Int]
    private let byBase: [String: [Int]]

    init(
        _ service: ExposedService, providers: [ServiceProvider], module: DeclaredModule?
    ) throws(RegistrationError) {
        var byName: [String: Int] = [:]
        for (index, method) in service.methods.enumerated() {
            if let mistake = method.mistake { throw .badService(service.name, detail: mistake) }
            for name in method.names {
                guard byName.updateValue(index, forKey: name) == nil else {
                    throw .badService(service.name, detail: "two methods are named \(name)")
                }
            }
        }
        name = service.name
        methods = service.methods
        entries = providers.map { $0.entry.brought(by: module) }
        self.module = module
        self.byName = byName
        byBase = Dictionary(grouping: methods.indices) { [methods] in methods[$0].base }
    }

    func find(_ method: String) -> Result<ExposedMethod, Failure> {
        if let index = byName[method] { return .success(methods[index]) }
        let candidates = byBase[method] ?? []
        if candidates.count == 1 { return .success(methods[candidates[0]]) }
        let full = methods.map(\.description.name)
        guard candidates.isEmpty else {
            let choice = candidates.map { full[$0] }
            return .failure(
                Failure(
                    .noMethod,
                    "\(name).\(method) is ambiguous: \(choice.joined(separator: ", "))",
                    nearest: Array(choice.prefix(3))))
        }
        return .failure(
            Failure(
                .noMethod, "\(name) exposes no method \(method.cut(to: 128))",
                nearest: NearestNames.find(method, among: full)))
    }
}
