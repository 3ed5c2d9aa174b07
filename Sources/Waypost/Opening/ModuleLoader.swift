import Synchronization
import Threading

/// Sets declared modules up once, one after another, each behind those that it needs.
final class ModuleLoader: Sendable {
    private struct Declaration {
        let module: any RouteModule
        let declared: DeclaredModule
    }

    private struct State {
        /// In the order in which they were declared, one for each name.
        var declarations: [Declaration] = []
        /// Declarations of a name that another module has.
        var refused: [ModuleFailure] = []
        var isRunning = false
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiting: UInt64 = 0
    }

    /// How waiting for modules ended.
    enum Wait: Sendable {
        case ended
        /// The time was up while this module was being set up.
        case deadline(module: String)
        case canceled
    }

    private let state = Guarded(State())
    // Read by every open, so it costs no lock.
    private let hasWork = Atomic(false)

    /// The loaders in whose set-up this task runs: it may open URLs itself and must not wait for its own end.
    @TaskLocal private static var running: [ObjectIdentifier] = []

    /// Whether this task must wait before it opens anything.
    var mustWait: Bool {
        hasWork.load(ordering: .acquiring) && !Self.running.contains(ObjectIdentifier(self))
    }

    /// The failures so far, in the order of declaration.
    var failures: [ModuleFailure] {
        state.withLock { $0.declarations.compactMap(\.declared.failure) + $0.refused }
    }

    /// The modules whose set-up has not ended.
    var loading: [String] {
        state.withLock { $0.declarations.filter(\.declared.isLoading).map(\.declared.name) }
    }

    /// Keeps a module for setting up.
    ///
    /// - Parameter register: Registers its routes and services, after those of the failed module that it replaces
    ///   were taken away. It runs under the lock, so that a set-up can't begin before it has ended.
    /// - Returns: Whether it was kept.
    func declare(
        _ module: any RouteModule,
        register: (DeclaredModule, _ replaced: DeclaredModule?) throws(RegistrationError) -> Void
    ) -> Bool {
        let declared = DeclaredModule(module.name)
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
            let declaration = Declaration(module: module, declared: declared)
            if let place {
                state.declarations[place] = declaration
            } else {
                state.declarations.append(declaration)
            }
            for other in state.declarations {
                if case .blocked = other.declared.status { other.declared.status = .declared }
            }
            return true
        }
    }

    /// Waits until all modules are set up or have failed, but no longer than `limit`.
    nonisolated(nonsending) func load(within limit: Duration?, clock: any Clock<Duration>) async -> Wait {
        guard mustWait else { return .ended }
        switch await withDeadline(WorkLimit(limit), clock: clock, { await self.load() }) {
        case .finished: return .ended
        case .deadline: return .deadline(module: slowest)
        case .canceled: return .canceled
        }
    }

    /// Waits until all modules are set up or have failed, or this task is cancelled.
    nonisolated(nonsending) func load() async {
        guard mustWait else { return }
        let (number, begins) = state.withLock { state in
            state.lastWaiting += 1
            defer { state.isRunning = true }
            return (state.lastWaiting, !state.isRunning)
        }
        if begins {
            // On the caller's thread, as a handler: in a busy process another thread may be long in coming.
            Task.immediate(executorPreference: OpenScope.current.executor) {
                await Self.$running.withValue(Self.running + [ObjectIdentifier(self)]) {
                    while let next = self.next() { await self.setUp(next) }
                }
            }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    guard state.isRunning, !Task.isCancelled else { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }

    nonisolated(nonsending) private func setUp(_ declaration: Declaration) async {
        do {
            try await declaration.module.setUp()
            declaration.declared.status = .ready
        } catch {
            declaration.declared.status = .failed("setUp failed: \(error)")
        }
    }

    private var slowest: String {
        state.withLock { state in
            let declared = state.declarations.map(\.declared)
            return (declared.first { $0.status == .settingUp } ?? declared.first(where: \.isLoading))?.name
                ?? ""
        }
    }

    // MARK: Order

    /// The module to set up next; nil, and the end of the waiting, when there is none.
    private func next() -> Declaration? {
        let (next, waiting) = state.withLock { state -> (Declaration?, [CheckedContinuation<Void, Never>]) in
            let known = Dictionary(
                state.declarations.map { ($0.declared.name, $0) }, uniquingKeysWith: { first, _ in first })
            while let first = state.declarations.first(where: { $0.declared.status == .declared }) {
                if let next = Self.ready(from: first, known) {
                    next.declared.status = .settingUp
                    return (next, [])
                }
            }
            defer { state.waiting = [:] }
            state.isRunning = false
            hasWork.store(false, ordering: .releasing)
            return (nil, Array(state.waiting.values))
        }
        for continuation in waiting { continuation.resume() }
        return next
    }

    /// Follows what a module needs to one that needs nothing more; nil when one on the path fails.
    private static func ready(from first: Declaration, _ known: [String: Declaration]) -> Declaration? {
        var path = [first]
        var current = first
        while true {
            var needed: Declaration?
            for name in current.module.dependencies {
                guard let other = known[name] else {
                    current.declared.status = .blocked("it needs \(name), which is not declared")
                    return nil
                }
                if let failure = other.declared.failure {
                    current.declared.status = .blocked("it needs \(failure)")
                    return nil
                }
                if other.declared.status == .declared { needed = needed ?? other }
            }
            guard let needed else { return current }
            if let start = path.firstIndex(where: { $0.declared === needed.declared }) {
                let circle = path[start...].map(\.declared)
                let names = (circle + [needed.declared]).map(\.name).joined(separator: " → ")
                for declared in circle { declared.status = .blocked("modules need each other: \(names)") }
                return nil
            }
            path.append(needed)
            current = needed
        }
    }
}
