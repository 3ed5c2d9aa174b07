import Synchronization
import Threading

/// Sets declared modules up once, each behind those that it needs, and the others at the same time.
final class ModuleLoader: Sendable {
    /// How long a set-up holds up what needs nothing of it.
    static let patience = Duration.seconds(1)

    private struct Declaration {
        let setUp: @Sendable () async throws -> Void
        let declared: DeclaredModule
        // Asked once and before the lock is taken, for they are the module's own code.
        let dependencies: [String]
        let isRequired: Bool
        let deadline: Duration?
    }

    /// A set-up that runs.
    private struct SetUp {
        let since = MonotonicTime.continuous
        /// Whether it takes longer than others have patience.
        var isSlow = false
        /// Whether the one that starts it looks itself for what comes next.
        var isStarting = true
        var task: Task<Void, Never>?
        var timers: [DelayedCall] = []
    }

    private let clock: any Clock<Duration>
    private let state = Guarded(State())
    // Read by every open, so it costs no lock.
    private let hasWork = Atomic(false)

    /// A loader that measures with the clock.
    init(clock: any Clock<Duration>) { self.clock = clock }

    /// Whether this task must wait before it opens anything.
    var mustWait: Bool { mustWait(for: .common) }

    /// Whether this task must wait for that; false in a set-up, which would wait for its own end.
    func mustWait(for need: ModuleNeed) -> Bool {
        guard isUnfinished else { return false }
        return state.withLock { $0.holds(need) || $0.closing(need) != nil }
    }

    /// Whether there may be something to wait for.
    private var isUnfinished: Bool {
        hasWork.load(ordering: .acquiring)
            && !DeclaredModule.settingUp.contains { $0.loader == ObjectIdentifier(self) }
    }

    /// The failures so far, in the order of declaration.
    var failures: [ModuleFailure] {
        state.withLock { $0.declarations.compactMap(\.declared.failure) + $0.refused }
    }

    /// The modules whose set-up has not ended.
    var loading: [String] {
        state.withLock { $0.declarations.filter(\.declared.isLoading).map(\.declared.name) }
    }

    /// The modules whose set-up takes long, as what is wrong with them.
    var slow: [ModuleFailure] {
        state.withLock { state in
            state.declarations.compactMap { declaration in
                guard let setUp = state.setUps[declaration.declared.id], setUp.isSlow else { return nil }
                let seconds = MonotonicTime.elapsed(since: setUp.since).components.seconds
                return ModuleFailure(
                    module: declaration.declared.name,
                    reason: "setUp has been running for \(seconds) s and has not ended")
            }
        }
    }

    /// Keeps a module for setting up.
    ///
    /// - Parameter register: Registers its routes and services, after those of the failed module that it replaces
    ///   were taken away. It runs under the lock, so that a set-up can't begin before it has ended.
    /// - Returns: Whether it was kept.
    func declare(
        _ module: any RouteModule, in router: Router,
        register: (DeclaredModule, _ replaced: DeclaredModule?) throws(RegistrationError) -> Void
    ) -> Bool {
        let declared = DeclaredModule(module.name, of: ObjectIdentifier(self))
        let declaration = Declaration(
            // Weak, for the router keeps its declarations.
            setUp: { [weak router] in if let router { try await module.setUp(in: router) } },
            declared: declared, dependencies: module.dependencies,
            isRequired: module.isRequired, deadline: module.setUpDeadline)
        return state.withLock { state in
            let place = state.declarations.firstIndex { $0.declared.name == declared.name }
            let replaced = place.map { state.declarations[$0].declared }
            if let replaced, replaced.failure == nil {
                let failure = ModuleFailure(
                    module: declared.name, reason: "it is declared twice; the first one counts")
                if !state.refused.contains(failure) { state.refused.append(failure) }
                return false
            }
            // Before its routes can be seen: who sees them looks at this next.
            hasWork.store(true, ordering: .releasing)
            do throws(RegistrationError) {
                try register(declared, replaced)
            } catch {
                declared.status = .failed("\(error)")
            }
            if let place {
                state.declarations[place] = declaration
            } else {
                state.declarations.append(declaration)
            }
            for other in state.declarations {
                if case .blocked = other.declared.status { other.declared.status = .declared }
            }
            hasWork.store(!state.isOver, ordering: .releasing)
            return true
        }
    }

    // MARK: Waiting

    /// Waits, but no longer than `limit`; gives the reason why who waits can't go on.
    ///
    /// - Parameter start: Since when the limit counts, as a time of ``MonotonicTime/continuous``.
    nonisolated(nonsending) func wait(
        for need: ModuleNeed, within limit: Duration?, since start: UInt64
    ) async -> Failure? {
        guard mustWait(for: need) else { return nil }
        let left = limit.map { $0 - MonotonicTime.elapsed(since: start) }
        switch await withDeadline(WorkLimit(left), clock: clock, { await self.wait(for: need) }) {
        case .finished:
            return state.withLock { $0.closing(need) }.map { Failure(.module, "\($0)") }
        case .deadline:
            let name = state.withLock { $0.awaited(need) } ?? ""
            return .deadline("the set-up of module \(name)", limit)
        case .canceled: return .canceled("waiting for modules")
        }
    }

    /// Waits until all modules are set up or have failed, or this task is cancelled.
    nonisolated(nonsending) func load() async {
        guard isUnfinished else { return }
        await wait(for: .all)
    }

    nonisolated(nonsending) private func wait(for need: ModuleNeed) async {
        goOn(inPlace: true)
        let number = state.withLock { state in
            state.lastWaiting += 1
            return state.lastWaiting
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.holds(need), !Task.isCancelled else { return true }
                    state.waiting[number] = Waiting(need: need, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            Scheduling.undisturbed {
                state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume()
            }
        }
    }

    /// Lets all go on who wait for nothing more.
    private func wake() {
        let over = state.withLock { state in
            let over = state.waiting.filter { !state.holds($0.value.need) }
            for number in over.keys { state.waiting[number] = nil }
            hasWork.store(!state.isOver, ordering: .releasing)
            return over.values
        }
        for waiting in over { waiting.continuation.resume() }
    }

    // MARK: Setting up

    /// Starts the set-ups that may begin by now.
    ///
    /// - Parameter inPlace: Whether they begin on this thread, as handlers do: in a busy process another thread may be
    ///   long in coming.
    private func goOn(inPlace: Bool) {
        while let next = state.withLock({ $0.takeNext() }) { start(next, inPlace: inPlace) }
        wake()
    }

    private func start(_ declaration: Declaration, inPlace: Bool) {
        let declared = declaration.declared
        let scope = OpenScope.current
        // Before it begins, for it may block this thread.
        var timers = [
            DelayedCall(after: Self.patience, on: clock) { [weak self] in
                OpenScope.$current.withValue(scope) { self?.noteSlow(declared) }
            }
        ]
        if let deadline = declaration.deadline {
            timers.append(
                DelayedCall(after: deadline, on: clock) { [weak self] in
                    let status = DeclaredModule.Status.failed("setUp did not end within \(deadline)")
                    OpenScope.$current.withValue(scope) { self?.end(declared, status, isLate: true) }
                })
        }
        state.withLock { $0.setUps[declared.id]?.timers = timers }
        // Not within the one that ended before it on this thread.
        let others = DeclaredModule.settingUp.filter { $0.loader != ObjectIdentifier(self) }
        let task = DeclaredModule.$settingUp.withValue(others + [declared]) {
            // On threads of their own they are not waited for: one that blocks keeps none from the next.
            guard inPlace, scope.executor == nil else {
                return Task(executorPreference: scope.executor) { await self.setUp(declaration) }
            }
            return Task.immediate { await self.setUp(declaration) }
        }
        let isOver = state.withLock { state in
            state.setUps[declared.id]?.task = task
            state.setUps[declared.id]?.isStarting = false
            return state.setUps[declared.id] == nil
        }
        // Its time was up while it blocked this thread.
        if isOver { task.cancel() }
    }

    nonisolated(nonsending) private func setUp(_ declaration: Declaration) async {
        do {
            try await declaration.setUp()
            end(declaration.declared, .ready)
        } catch {
            end(declaration.declared, .failed("setUp failed: \(error.words)"))
        }
    }

    /// Notes how a set-up ended; does nothing when its time was up before.
    private func end(_ declared: DeclaredModule, _ status: DeclaredModule.Status, isLate: Bool = false) {
        let ended = state.withLock { state in
            let ended = state.setUps.removeValue(forKey: declared.id)
            if ended != nil { declared.status = status }
            return ended
        }
        guard let ended else { return }
        for timer in ended.timers { timer.cancel() }
        if isLate { ended.task?.cancel() }
        // On the thread of a timer nothing may run.
        if ended.isStarting, !isLate { wake() } else { goOn(inPlace: !isLate) }
    }

    private func noteSlow(_ declared: DeclaredModule) {
        state.withLock { $0.setUps[declared.id]?.isSlow = true }
        goOn(inPlace: false)
    }

    // MARK: State

    private struct Waiting {
        let need: ModuleNeed
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        /// In the order in which they were declared, one for each name.
        var declarations: [Declaration] = []
        /// Declarations of a name that another module has.
        var refused: [ModuleFailure] = []
        /// The set-ups that run, by module.
        var setUps: [ObjectIdentifier: SetUp] = [:]
        var waiting: [UInt64: Waiting] = [:]
        var lastWaiting: UInt64 = 0

        private var known: [String: Declaration] {
            Dictionary(declarations.map { ($0.declared.name, $0) }, uniquingKeysWith: { first, _ in first })
        }

        /// Whether who needs this has to wait.
        func holds(_ need: ModuleNeed) -> Bool {
            switch need {
            case .module(let module): module.isLoading
            case .all: declarations.contains(where: \.declared.isLoading)
            case .common: firstCommon != nil
            }
        }

        /// Why who needs this can't go on whatever becomes of the others.
        func closing(_ need: ModuleNeed) -> ModuleFailure? {
            guard case .common = need else { return nil }
            return declarations.lazy.filter(\.isRequired).compactMap(\.declared.failure).first
        }

        /// Whether no open has to look any more.
        ///
        /// What failed and is required keeps all of them from going on.
        var isOver: Bool { !holds(.all) && closing(.common) == nil }

        /// The module for which who needs this waits now.
        func awaited(_ need: ModuleNeed) -> String? {
            switch need {
            case .common:
                // It may have become slow in the very moment in which the time was up.
                guard let first = firstCommon else { return awaited(.all) }
                return firstSetUp(in: chain(of: first.declared.name)) ?? first.declared.name
            case .module(let module): return firstSetUp(in: chain(of: module.name)) ?? module.name
            case .all:
                return firstSetUp(in: declarations)
                    ?? declarations.first(where: \.declared.isLoading)?.declared.name
            }
        }

        private func firstSetUp(in declarations: [Declaration]) -> String? {
            declarations.first { $0.declared.status == .settingUp }?.declared.name
        }

        private var firstCommon: Declaration? {
            let loading = declarations.filter(\.declared.isLoading)
            guard !loading.isEmpty else { return nil }
            let holding = loading.filter { $0.isRequired || !isSlow($0) }
            return holding.first { $0.declared.status == .settingUp } ?? holding.first
        }

        /// Whether its set-up takes long, or waits for one that does.
        private func isSlow(_ declaration: Declaration) -> Bool {
            chain(of: declaration.declared.name).contains { setUps[$0.declared.id]?.isSlow ?? false }
        }

        /// A module and all that it depends on.
        private func chain(of name: String) -> [Declaration] {
            let known = known
            var names = [name]
            var chain: [Declaration] = []
            while let name = names.popLast() {
                guard let next = known[name], !chain.contains(where: { $0.declared === next.declared }) else {
                    continue
                }
                chain.append(next)
                names += next.dependencies
            }
            return chain
        }

        // MARK: Order

        private enum Step {
            case start(Declaration)
            /// It waits for a set-up that runs.
            case wait
            /// One can't be set up.
            case block
        }

        /// The module to set up next, noted as being set up; nil when there is none by now.
        mutating func takeNext() -> Declaration? {
            let known = known
            var place = 0
            while place < declarations.count {
                guard declarations[place].declared.status == .declared else {
                    place += 1
                    continue
                }
                switch Self.step(from: declarations[place], known) {
                case .start(let next):
                    next.declared.status = .settingUp
                    setUps[next.declared.id] = SetUp()
                    return next
                case .wait: place += 1
                // Those before it may need it.
                case .block: place = 0
                }
            }
            return nil
        }

        /// Follows what a module needs to one that needs nothing more.
        private static func step(from first: Declaration, _ known: [String: Declaration]) -> Step {
            var path = [first]
            var current = first
            while true {
                var needed: Declaration?
                var waits = false
                for name in current.dependencies {
                    guard let other = known[name] else {
                        current.declared.status = .blocked("it needs \(name), which is not declared")
                        return .block
                    }
                    if let failure = other.declared.failure {
                        current.declared.status = .blocked("it needs \(failure)")
                        return .block
                    }
                    switch other.declared.status {
                    case .declared: needed = needed ?? other
                    case .settingUp: waits = true
                    case .ready, .failed, .blocked: break
                    }
                }
                guard let needed else { return waits ? .wait : .start(current) }
                if let start = path.firstIndex(where: { $0.declared === needed.declared }) {
                    let circle = path[start...].map(\.declared)
                    let names = (circle + [needed.declared]).map(\.name).joined(separator: " → ")
                    for declared in circle { declared.status = .blocked("modules need each other: \(names)") }
                    return .block
                }
                path.append(needed)
                current = needed
            }
        }
    }
}
