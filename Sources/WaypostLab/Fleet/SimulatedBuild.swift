import DemoFeatures
import Threading
import Waypost
import WaypostAgent
import WaypostMessages

/// A version of the program that the agents of a fleet run: one router for all of them.
final class SimulatedBuild: Sendable {
    /// The documents of an agent about its routes.
    struct Documents: Sendable {
        var routes: [UInt8]
        var contract: [UInt8]
    }

    /// A map that was laid over the routes for questions.
    private struct Laid: Sendable {
        var maps: SimulatedMaps
        var agent: String?
    }

    /// The most bytes of a document.
    private static let maximumBytes = 1 << 20
    /// Routers that are kept for opens and calls under different maps.
    private static let keptRouters = 16

    let version: String
    /// Whether it knows neither the newer commands nor one of the routes.
    let isOld: Bool
    private let directory: String
    /// For what only looks: it gets the map of whoever asks.
    private let desk: Router
    private let laid = Guarded<Laid?>(nil)
    private let running = Guarded<[(maps: SimulatedMaps, agent: String?, router: Router)]>([])

    /// - Parameter directory: where the services of the demo keep their files.
    init(version: String, isOld: Bool, directory: String) throws {
        self.version = version
        self.isOld = isOld
        self.directory = directory
        desk = try Self.router(version, isOld: isOld, directory)
    }

    private static func router(_ version: String, isOld: Bool, _ directory: String) throws -> Router {
        let router = Router(configuration: RouterConfiguration(webPath: DemoFeatures.webPath))
        try DemoFeatures.register(in: router, stateDirectory: directory)
        if isOld { router.unregister("scheme://router/orders") }
        router.updateRelocationContext { $0.build = version }
        return router
    }

    // MARK: Looking

    func compile(_ layers: [RelocationLayer]) throws(RelocationError) -> CompiledRelocation {
        try desk.compile(delivered: layers)
    }

    func report(_ compiled: CompiledRelocation, for agent: String?) -> RelocationReport {
        desk.report(compiled, for: agent)
    }

    /// Looks at the routes as an agent has them under its maps; what runs user code must not be done here.
    ///
    /// It is called by the fleet alone, one after another.
    func look<Result>(_ maps: SimulatedMaps, _ agent: String, _ body: (Router) -> Result) -> Result {
        lay(maps, agent)
        return body(desk)
    }

    /// The routes and the contract of an agent under its maps.
    func documents(_ maps: SimulatedMaps, _ agent: String) -> Documents {
        look(maps, agent) { router in
            let lists = PublishedLists(of: router, within: Self.maximumBytes)
            return Documents(routes: lists.routes.0, contract: lists.contract.0)
        }
    }

    private func lay(_ maps: SimulatedMaps, _ agent: String) {
        let agent = maps.isPersonal ? agent : nil
        let isNew = laid.withLock { laid in
            guard laid?.maps !== maps || laid?.agent != agent else { return false }
            laid = Laid(maps: maps, agent: agent)
            return true
        }
        guard isNew else { return }
        if let agent { desk.updateRelocationContext { $0.agent = agent } }
        desk.install(maps.compiled)
    }

    // MARK: Running

    /// The router in which an agent under these maps opens and calls.
    func router(_ maps: SimulatedMaps, _ agent: String) throws -> Router {
        let agent = maps.isPersonal ? agent : nil
        let known = running.withLock { $0.first { $0.maps === maps && $0.agent == agent } }
        if let known { return known.router }
        let router = try Self.router(version, isOld: isOld, directory)
        if let agent { router.updateRelocationContext { $0.agent = agent } }
        router.install(maps.compiled)
        running.withLock { running in
            if running.count >= Self.keptRouters { running.removeFirst() }
            running.append((maps, agent, router))
        }
        return router
    }
}
