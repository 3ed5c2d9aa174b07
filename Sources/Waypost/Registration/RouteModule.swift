/// A part of an app that brings its routes and services, and sets itself up when they are first needed.
public protocol RouteModule: Sendable {
    /// Its name, which others name as a dependency.
    var name: String { get }
    /// The modules that must be set up before this one; none unless declared.
    var dependencies: [String] { get }
    /// The routes it brings; none unless declared.
    var routes: [Route] { get }
    /// The services it opens to callers from outside; none unless declared.
    var services: [ExposedService] { get }
    /// Gets it ready; does nothing unless declared.
    func setUp() async throws
}

extension RouteModule {
    /// The type's name.
    public var name: String { String(describing: Self.self) }
    /// None.
    public var dependencies: [String] { [] }
    /// None.
    public var routes: [Route] { [] }
    /// None.
    public var services: [ExposedService] { [] }
    /// Nothing to do.
    public func setUp() async throws {}
}

/// Sets modules up once, in the order of their dependencies, at the first open.
final class ModuleLoader: Sendable {
    private enum State {
        case ready
        case declared([any RouteModule])
        case loading(Task<RouteFailure?, Never>, next: [any RouteModule])
        case failed(RouteFailure)
    }

    private let state = Guarded(State.ready)
    /// The names of the modules that are set up already.
    private let done = Guarded<Set<String>>([])

    /// Whether this task is a set-up: it may open URLs itself and must not wait for its own end.
    @TaskLocal private static var isSettingUp = false

    func add(_ modules: [any RouteModule]) {
        state.withLock { state in
            switch state {
            case .ready, .failed: state = .declared(modules)
            case .declared(let earlier): state = .declared(earlier + modules)
            case .loading(let task, let next): state = .loading(task, next: next + modules)
            }
        }
    }

    /// Waits until all modules are set up; gives the reason when one could not be.
    func load(into router: Router) async -> RouteFailure? {
        guard !Self.isSettingUp else { return nil }
        while true {
            let task: Task<RouteFailure?, Never>? = state.withLock { state in
                switch state {
                case .ready, .failed: return nil
                case .loading(let task, _): return task
                case .declared(let modules):
                    let task = Task {
                        await Self.$isSettingUp.withValue(true) { await self.setUp(modules, router) }
                    }
                    state = .loading(task, next: [])
                    return task
                }
            }
            guard let task else {
                return state.withLock { if case .failed(let failure) = $0 { failure } else { nil } }
            }
            let failure = await task.value
            state.withLock { state in
                guard case .loading(let current, let next) = state, current == task else { return }
                if let failure {
                    state = .failed(failure)
                } else {
                    state = next.isEmpty ? .ready : .declared(next)
                }
            }
        }
    }

    private func setUp(_ modules: [any RouteModule], _ router: Router) async -> RouteFailure? {
        let ordered: [any RouteModule]
        switch Self.order(modules, after: done.withLock { $0 }) {
        case .success(let modules): ordered = modules
        case .failure(let failure): return failure
        }
        for module in ordered {
            do {
                try await module.setUp()
                try router.services.expose(module.services)
                try router.register(module.routes)
                done.withLock { _ = $0.insert(module.name) }
            } catch {
                return .handler("module \(module.name) could not be set up: \(error)")
            }
        }
        return nil
    }

    /// The modules with every one behind those that it needs; equal ones in the order of declaration.
    private static func order(
        _ modules: [any RouteModule], after earlier: Set<String>
    ) -> Result<[any RouteModule], RouteFailure> {
        var byName: [String: any RouteModule] = [:]
        for module in modules
        where earlier.contains(module.name) || byName.updateValue(module, forKey: module.name) != nil {
            return .failure(.handler("module \(module.name) is declared twice"))
        }
        var ordered: [any RouteModule] = []
        var done = earlier
        var way: [String] = []
        func visit(_ module: any RouteModule) -> RouteFailure? {
            if done.contains(module.name) { return nil }
            if way.contains(module.name) {
                return .handler("modules need each other: \((way + [module.name]).joined(separator: " → "))")
            }
            way.append(module.name)
            for name in module.dependencies where !done.contains(name) {
                guard let needed = byName[name] else {
                    return .handler("module \(module.name) needs \(name), which is not declared")
                }
                if let failure = visit(needed) { return failure }
            }
            way.removeLast()
            done.insert(module.name)
            ordered.append(module)
            return nil
        }
        for module in modules {
            if let failure = visit(module) { return .failure(failure) }
        }
        return .success(ordered)
    }
}

extension Router {
    /// Declares modules; nothing of them runs before the first open.
    ///
    /// Then they are set up once, each behind those that it depends on. When one fails, every open ends in
    /// `failed` with the reason, until modules are declared anew.
    public func declare(_ modules: [any RouteModule]) {
        self.modules.add(modules)
    }

    /// Sets declared modules up now, for those who do not want to wait for the first open.
    ///
    /// - Throws: ``RouteFailure`` with the reason, when a module could not be set up.
    public func load() async throws(RouteFailure) {
        if let failure = await modules.load(into: self) { throw failure }
    }
}
