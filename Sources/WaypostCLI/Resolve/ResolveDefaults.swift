import Waypost
import WaypostMessages

/// What the command's options give to cases that leave it out, and the router of the case before.
struct ResolveDefaults {
    private let source: RouteSource
    private let setup: RouterSetup
    private let client: ClientSetup
    private let contract: RouterContract?
    private let layers: [RelocationLayer]

    init(_ source: RouteSource, _ options: RouterOptions, _ client: ClientSetup) throws {
        self.source = source
        setup = try options.setup()
        self.client = client
        var contract = source.isGiven ? try source.file().contract : nil
        if let routes = contract?.routes {
            contract?.routes = RouteFile.known(routes, setup.configuration)
        }
        self.contract = contract
        layers = try source.layers()
    }

    /// The router that a case asks for, and what of its maps is not in force.
    ///
    /// - Throws: ``Rejection`` when its routes do not fit together.
    func router(_ table: ResolveCase.Table) throws(Rejection) -> (Router, ResolveMaps) {
        let setup = table.setup ?? setup
        let router: Router
        let listed = table.routes.map { routes in
            RouterContract(
                routes: routes.map { RouteDescription(path: $0, priority: table.priorities[$0] ?? 0) })
        }
        guard let contract = listed ?? contract else {
            throw Rejection(.badField, "routes is missing, and no --routes was given")
        }
        var configuration = setup.configuration.completed(by: contract)
        configuration.relocationContext = (table.client ?? client).context
        router = Router(configuration: configuration)
        do {
            try router.register(contract.routes.map { Route($0) { _ in .opened() } })
            for service in contract.services {
                try router.services.expose(ExposedService(standInFor: service))
            }
        } catch {
            throw Rejection(.badField, "routes: \(error)")
        }
        // A destination that only a map names is taken as known: the case has no classes of its own.
        for name in table.maps.flatMap(Self.classNames) where !router.knows(name) {
            router.registerDestination(name) { _ in .opened() }
        }
        var maps = ResolveMaps(router, layers)
        for map in table.maps { maps.patch(map) }
        return (router, maps)
    }

    private static func classNames(_ map: JSONValue) -> [String] {
        (map["entries"] ?? map).arrayValue?.compactMap { $0["className"]?.stringValue }
            ?? [map["className"]?.stringValue].compactMap(\.self)
    }
}
