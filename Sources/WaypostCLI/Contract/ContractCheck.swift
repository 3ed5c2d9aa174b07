import Waypost
import WaypostMessages

/// Holds commands against what an agent can open and call.
struct ContractCheck {
    private let contract: RouterContract
    private let router: Router
    /// Whether it is known where redirects lead.
    private let isComplete: Bool

    /// - Throws: ``CommandError`` 64 when the routes are in conflict.
    init(_ contract: RouterContract) throws(CommandError) {
        self.contract = contract
        router = Router(configuration: contract.settings.configuration)
        try StandInRoutes.register(
            RouteFile(contract), of: "the contract", in: router, notesMissing: false)
        // Where they lead does not matter: nothing is known of it.
        let entries = contract.redirects.map {
            RelocationEntry(.replace(origin: $0, target: "elsewhere://elsewhere"))
        }
        _ = try? router.relocate([RelocationLayer(name: "redirects", entries: entries)])
        isComplete = false
    }

    /// The route that takes a URL, as the contract describes it.
    func route(of url: String) -> RouteDescription? {
        router.resolve(url).route.flatMap { path in contract.routes.first { $0.path == path } }
    }

    /// The same with maps laid over the routes; where they lead is known.
    init(
        _ contract: RouterContract, _ configuration: RouterConfiguration, _ layers: [RelocationLayer]
    ) throws(CommandError) {
        self.contract = contract
        router = Router(configuration: configuration)
        try StandInRoutes.register(
            RouteFile(contract), of: "the contract", in: router, notesMissing: false)
        _ = try? router.relocate(layers)
        isComplete = true
    }

    /// What does not fit, without secrets; nothing where it can not be known.
    func report(_ operation: Command.Operation) -> ContractReport {
        let redaction = Redaction()
        var report = unmasked(operation)
        report.fault = report.fault.map {
            Rejection($0.code, redaction.masked($0.detail), nearest: $0.nearest)
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
            return router.checkOpen(url, parameters: parameters)
        case .call(let service, let method, let arguments):
            return router.checkCall(service, method, arguments: ServiceArguments(arguments))
        case .navigate, .cancel, .failures, .inspect, .log, .ping, .replay: return ContractReport()
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
