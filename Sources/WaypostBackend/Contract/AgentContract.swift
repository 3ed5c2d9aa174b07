public import Waypost
package import WaypostMessages
package import WaypostTools

/// What an agent can open and call, against which commands are checked before they are sent.
public struct AgentContract {
    /// Routes, services and redirects.
    package let contract: RouterContract
    private let router: Router
    /// The paths that maps took away; nil when there are none.
    private let deleted: Router?
    /// Whether it is known where redirects lead.
    private let isComplete: Bool

    /// A contract as `waypost describe --json` writes it.
    ///
    /// - Throws: ``BackendError`` of kind `invalid` when it is none, or when its routes are in conflict.
    public init(_ json: JSONValue) throws(BackendError) {
        let contract: RouterContract
        do {
            contract = try RouterContract(json)
        } catch {
            throw BackendError(.invalid, "the contract: \(error)")
        }
        try self.init(contract)
    }

    /// - Throws: ``BackendError`` when the routes are in conflict.
    package init(_ contract: RouterContract) throws(BackendError) {
        self.contract = contract
        router = Router(configuration: contract.settings.configuration)
        try Self.register(contract, in: router)
        // Where they lead does not matter: nothing is known of it.
        let entries = contract.redirects.map {
            RelocationEntry(.replace(origin: $0, target: "elsewhere://elsewhere"))
        }
        _ = try? router.relocate([RelocationLayer(name: "redirects", entries: entries)])
        deleted = Self.deleted(contract)
        isComplete = false
    }

    /// The route that takes a URL, as the contract describes it.
    package func route(of url: String) -> RouteDescription? {
        router.resolve(url).route.flatMap { path in contract.routes.first { $0.path == path } }
    }

    /// The same with maps laid over the routes; where they lead is known.
    package init(
        _ contract: RouterContract, _ configuration: RouterConfiguration, _ layers: [RelocationLayer]
    ) throws(BackendError) {
        self.contract = contract
        router = Router(configuration: configuration)
        try Self.register(contract, in: router)
        _ = try? router.relocate(layers)
        deleted = nil
        isComplete = true
    }

    /// Registers what the contract lists, without routes whose converters are not known here; nothing is opened.
    private static func register(
        _ contract: RouterContract, in router: Router
    ) throws(BackendError) {
        let routes = contract.routes.filter { $0.missingConverter(router.configuration) == nil }
        do {
            try router.register(routes.map { route in Route(route) { _ in .opened(.null) } })
            try router.registerStandIns(for: contract)
        } catch {
            throw BackendError(.invalid, "the contract: \(error)")
        }
    }

    private static func deleted(_ contract: RouterContract) -> Router? {
        guard !contract.deletions.isEmpty else { return nil }
        let router = Router(configuration: contract.settings.configuration)
        for deletion in contract.deletions {
            _ = try? router.register(RouteKey(deletion.path), replacing: true) { _ in .opened(.null) }
        }
        return router
    }

    /// What does not fit, without secrets; nothing where it cannot be known.
    package func report(_ operation: Command.Operation) -> ContractReport {
        let redaction = Redaction()
        var report = unmasked(operation)
        report.fault = report.fault.map {
            Failure($0.code, redaction.masked($0.detail), nearest: $0.nearest)
        }
        report.warnings = report.warnings.map(redaction.masked)
        return report
    }

    private func unmasked(_ operation: Command.Operation) -> ContractReport {
        switch operation {
        case .open(let url, let parameters):
            guard !contract.settings.hasHooks, isComplete || !router.isRedirected(url) else {
                return ContractReport()
            }
            var report = router.checkOpen(url, parameters: parameters)
            if report.fault?.code == .noRoute, let path = deleted?.resolve(url).route,
                let deletion = contract.deletions.first(where: { $0.path == path })
            {
                report.fault = Failure(
                    .noRoute, "no route matches \(RouteURL.withoutValues(url)): deleted by \(deletion.entry)")
            }
            return report
        case .call(let service, let method, let arguments):
            return router.checkCall(service, method, arguments: ServiceArguments(arguments))
        case .navigate, .cancel, .failures, .inspect, .log, .maps, .ping, .replay, .resolve:
            return ContractReport()
        }
    }
}

extension ServiceArguments {
    fileprivate init(_ arguments: Command.Arguments) {
        switch arguments {
        case .positional(let values): self = .positional(values)
        case .labeled(let members): self = .labeled(members)
        }
    }
}
