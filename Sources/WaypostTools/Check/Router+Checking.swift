public import Waypost

extension Router {
    /// Compares the registered routes with a list, and looks for routes, entries and scopes that can never work.
    ///
    /// - Parameter declared: The routes that should be registered, for instance read from a file; nil compares
    ///   nothing. All that the list says is compared: paths, classes, priorities, kinds, parameters with their types,
    ///   metadata and defaults. An empty class agrees with any, and so does what a list leaves out.
    public func check(declared: [RouteDescription]? = nil) -> CheckReport {
        check(declared: declared, nil)
    }

    /// Compares what is registered with a contract that was kept, services, gates and settings too, and looks for
    /// mistakes as ``check(declared:)`` does.
    ///
    /// What is different says whether it breaks callers (``CheckReport/Finding/breaksCallers``). What is new and must be
    /// in the contract is a mistake all the same, so that the file is never behind.
    ///
    ///     #expect(router.check(against: RouterContract(kept)).isClean)
    public func check(against contract: RouterContract) -> CheckReport {
        check(declared: contract.routes, contract)
    }

    private func check(declared: [RouteDescription]?, _ contract: RouterContract?) -> CheckReport {
        // These are in no list that is compared.
        let refused = linkedFailures.map { failure in
            CheckReport.Finding(
                kind: .declaredNotRegistered, subject: failure.subject, detail: failure.detail)
        }
        let failed = (moduleFailures + slowModules).map { failure in
            CheckReport.Finding(kind: .failedModule, subject: failure.module, detail: "\(failure)")
        }
        var check = RouteCheck(state, refused + failed + PatternCheck(state).findings)
        check.findUnreachable()
        check.findUnreadPlaceholders()
        check.findLimitedSchemes()
        check.findDeadWebPath()
        let maps = MapCheck(state.layers.map(CheckedMap.init), isOfDocuments: false)
        check.add(ScopeCheck(state).findings + maps.findings(in: state))
        if let declared { check.compare(declared) }
        if let contract {
            check.compare(contract.services, with: services.services)
            check.compareRest(contract, with: contractWithoutRoutes)
        }
        return check.report(state.layers.map(\.name))
    }

    /// Checks a list of routes and a map without a router: for CI.
    ///
    /// - Parameters:
    ///   - routes: The routes, for instance imported from an export.
    ///   - layers: The relocation layers to lay over them.
    ///   - configuration: The settings of the router that they are meant for.
    public static func check(
        routes: [RouteDescription], layers: [RelocationLayer] = [],
        configuration: RouterConfiguration = .init()
    ) -> CheckReport {
        check(RouterContract(routes: routes), maps: layers.map(CheckedMap.init), configuration: configuration)
        { _ in nil }
    }

    /// The same for maps that were read to their end, and for a list with places, such as the lines of a file, that
    /// findings name.
    ///
    /// Of services and gates it is said that they are missing where the contract says which there are.
    /// - Parameter earlier: A contract that callers know. What breaks them is a mistake, and what else is different is
    ///   only good to know. Services, gates and settings are compared where both say them.
    package static func check(
        _ contract: RouterContract, maps: [CheckedMap], configuration: RouterConfiguration,
        since earlier: RouterContract? = nil, place: @escaping (Int) -> String?
    ) -> CheckReport {
        var state = RouterState(configuration, services: contract.standInServices)
        state.know(gates: contract.mapKinds.isEmpty ? nil : contract.gates)
        var listed = ListedRoutes(contract.routes, place: place)
        var findings = contract.routes.enumerated().compactMap { index, description in
            add(description, index, to: &state, &listed)
        }
        var mapCheck = MapCheck(maps, isOfDocuments: true)
        mapCheck.install(in: &state)
        findings += PatternCheck(state, listed).findings + mapCheck.findings(in: state)
        var check = RouteCheck(state, findings, listed)
        check.findUnreachable()
        check.findLimitedSchemes()
        check.findDeadWebPath()
        if let earlier {
            check.allowsMore = true
            check.compare(earlier.routes)
            if !contract.isList, !earlier.isList {
                check.compare(earlier.services, with: contract.services)
                check.compareRest(earlier, with: contract)
            }
        }
        return check.report(maps.map(\.name))
    }

    /// Adds a route of a list; returns why it can't be.
    private static func add(
        _ description: RouteDescription, _ index: Int, to state: inout RouterState,
        _ listed: inout ListedRoutes
    ) -> CheckReport.Finding? {
        func finding(
            _ kind: CheckReport.Finding.Kind, _ detail: String, _ others: [CheckReport.Finding.Place] = []
        ) -> CheckReport.Finding {
            .init(
                kind: kind, subject: description.path, detail: detail, place: .route(index), others: others)
        }
        guard description.missingConverter(state.configuration) == nil else {
            return finding(
                .unknownConverter,
                "\(description.path) is not checked: a converter of it is not known here")
        }
        do throws(RegistrationError) {
            try state.add(Route(description) { _ in .opened() })
            listed.note(index, try state.base.pattern(description.path).text)
            return nil
        } catch {
            guard case .conflict(_, let conflicting) = error else {
                let hint = ForeignSyntax.hint(in: description.path, state.configuration.syntax)
                return finding(.badPattern, "\(error)" + (hint.map { "; \($0)" } ?? ""))
            }
            let rival = listed.name(conflicting, description.priority)
            return finding(
                .conflict, "\(listed.name(index)): already held by \(rival)",
                listed.index(conflicting, description.priority).map { [.route($0)] } ?? [])
        }
    }
}

extension RouterContract {
    /// Whether it may be a list of routes alone.
    fileprivate var isList: Bool { services.isEmpty && mapKinds.isEmpty }

    /// Its services; nil when it may be a list of routes alone.
    fileprivate var standInServices: ServiceRegistry? {
        guard !isList else { return nil }
        let registry = ServiceRegistry()
        for service in services { try? registry.expose(ExposedService(standInFor: service)) }
        return registry
    }
}
