extension Router {
    /// Declares modules: their routes and services are visible at once, and set up before the first open or call.
    ///
    /// Each is set up once, behind those that it depends on. One that fails takes only its own routes and services
    /// with it, and those of modules that need it: they end in 503 `MODULE` with the reason, until a corrected module
    /// of its name is declared. When one of its routes or services can't be registered, none is.
    public func declare(_ modules: [any RouteModule]) {
        loadLinked()
        let declared = ServiceRegistry.Modules(
            mustWait: { [weak loader = self.modules] in loader?.mustWait ?? false },
            wait: { [weak self] deadline in
                guard let self else { return nil }
                return await loadModules(within: deadline)
            })
        registry.wait(for: declared, of: ObjectIdentifier(self.modules))
        for module in modules {
            let (routes, services) = (module.routes, module.services)
            let isKept = self.modules.declare(module) { declared, replaced throws(RegistrationError) in
                if let replaced {
                    swap { state, _ in state.remove(replaced) }
                    registry.close(replaced)
                }
                try swap { (state, _) throws(RegistrationError) in
                    try state.add(routes, of: declared, replacing: false)
                    try registry.add(services, of: declared)
                }
            }
            if isKept {
                useNavigator(of: routes)
                notifyChange()
            }
        }
    }

    /// Sets declared modules up; returns when each is set up or has failed, or when this task is cancelled.
    ///
    /// For those who do not want to wait for the first open.
    @discardableResult
    nonisolated(nonsending) public func load() async -> [ModuleFailure] {
        await modules.load()
        return moduleFailures
    }

    /// The modules that failed so far, in the order in which they were declared.
    public var moduleFailures: [ModuleFailure] { modules.failures }

    /// The names of the modules whose set-up has not ended, or not begun.
    public var modulesLoading: [String] { modules.loading }

    /// Waits for modules; gives the reason when an open or call can't go on.
    nonisolated(nonsending) func loadModules(within limit: Duration?) async -> Failure? {
        switch await modules.load(within: limit, clock: configuration.clock) {
        case .ended: nil
        case .deadline(let module): .deadline("the set-up of module \(module)", limit)
        case .canceled: .canceled("waiting for modules")
        }
    }
}
