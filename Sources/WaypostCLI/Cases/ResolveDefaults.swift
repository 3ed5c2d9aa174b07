import Waypost
import WaypostTools

/// What is given to cases that leave it out.
struct ResolveDefaults {
    private let setup: RouterSetup
    private let client: ClientSetup
    private let contract: RouterContract?
    private let layers: [RelocationLayer]

    /// - Parameters:
    ///   - contract: The routes and services for cases without routes, of which all converters are known here.
    ///   - layers: The maps that are laid over the routes of every case.
    init(
        _ setup: RouterSetup, _ client: ClientSetup, contract: RouterContract?, layers: [RelocationLayer]
    ) {
        self.setup = setup
        self.client = client
        self.contract = contract
        self.layers = layers
    }

    /// The router that a case asks for, and what of its maps is not in force.
    ///
    /// - Throws: ``Failure`` when its routes do not fit together.
    func router(_ table: ResolveCase.Table) throws(Failure) -> (Router, ResolveMaps) {
        let setup = table.setup ?? setup
        let router: Router
        let listed = table.routes.map { routes in
            RouterContract(
                routes: routes.map { RouteDescription(path: $0, priority: table.priorities[$0] ?? 0) })
        }
        guard let contract = listed ?? contract else {
            throw Failure(.badField, "routes is missing, and no file of routes was given")
        }
        var configuration = setup.configuration.completed(by: contract)
        configuration.relocationContext = (table.client ?? client).context
        router = Router(configuration: configuration)
        do {
            try router.register(contract.routes.map { Route($0) { _ in .opened() } })
            try router.registerStandIns(for: contract)
            // A destination that only a map names is taken as known: the case has no classes of its own.
            for name in table.maps.flatMap(Self.classNames) where !router.knows(name) {
                try router.register(.destination(name) { _ in .opened() })
            }
        } catch {
            throw Failure(.badField, "routes: \(error)")
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
