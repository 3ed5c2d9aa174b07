extension Router {
    /// Declares modules: their routes and services are visible at once, and set up before the first open or call.
    ///
    /// Each is set up once, behind those that it depends on. An open or a call waits for the module whose route or
    /// method it would run, no longer than its own deadline. For the others it waits too, since their set-ups may add
    /// interceptors, but only for those that are not slow: one whose set-up has been running for a second holds up
    /// what needs it, what no route takes yet, and nothing else; see ``RouteModule/isRequired``.
    ///
    /// A module that fails takes only its own routes and services with it, and those of modules that need it: they end
    /// in 503 `MODULE` with the reason, until a corrected module of its name is declared. When one of its routes or
    /// services can't be registered, none is.
    public func declare(_ modules: [any RouteModule]) {
        loadLinked()
        let declared = ServiceRegistry.Modules(
            mustWait: { [weak loader = self.modules] need in loader?.mustWait(for: need) ?? false },
            wait: { [weak loader = self.modules] need, deadline, start in
                await loader?.wait(for: need, within: deadline, since: start)
            })
        registry.wait(for: declared, of: ObjectIdentifier(self.modules))
        for module in modules {
            let (routes, services, providers) = (module.routes, module.services, module.providers)
            let isKept = self.modules.declare(module, in: self) {
                declared, replaced throws(RegistrationError) in
                if let replaced {
                    swap { state, _ in state.remove(replaced) }
                    registry.close(replaced)
                }
                try swap { (state, _) throws(RegistrationError) in
                    try state.add(routes, of: declared, replacing: false)
                    try registry.add(services, providers, of: declared)
                }
            }
            if isKept {
                useNavigator(of: routes)
                notifyChange()
            }
        }
    }

    /// Sets declared modules up; returns when each is set up or has failed.
    ///
    /// For those who do not want to wait for the first open. It waits for slow modules too.
    /// - Throws: `CancellationError` when this task is cancelled before that; the set-ups go on.
    @discardableResult
    nonisolated(nonsending) public func load() async throws(CancellationError) -> [ModuleFailure] {
        await modules.load()
        if Task.isCancelled, !modulesLoading.isEmpty { throw CancellationError() }
        return moduleFailures
    }

    /// The modules that failed so far, in the order in which they were declared.
    ///
    /// One whose set-up hangs is among them after its ``RouteModule/setUpDeadline``.
    public var moduleFailures: [ModuleFailure] { modules.failures }

    /// The modules whose set-up takes long, as what is wrong with them.
    package var slowModules: [ModuleFailure] { modules.slow }

    /// The names of the modules whose set-up has not ended, or not begun.
    public var modulesLoading: [String] { modules.loading }
}
