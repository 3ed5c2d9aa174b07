import ArgumentParser
import DemoFeatures
import Waypost
import WaypostBackend
import WaypostMessages
import WaypostTools

/// Where routes come from, and the maps that are laid over them.
struct RouteSource: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A list of routes as TheRouter exports it, [{\"path\",\"class\",\"priority\"}], or a contract as waypost describe "
                + "--json prints it; - is standard input.",
            valueName: "file"))
    var routes: String?

    @Flag(help: "The routes and services of the demo.")
    var demo = false

    @Option(
        name: .customLong("map"),
        help: ArgumentHelp(
            "A relocation document to apply: a map, a patch or entries. May be repeated: each is a layer, and later "
                + "layers win.", valueName: "file"))
    var maps: [String] = []

    func validate() throws {
        guard routes == nil || !demo else { throw ValidationError("use --routes or --demo, not both") }
        guard Set(maps).count == maps.count else {
            throw ValidationError("--map: the same file is given twice")
        }
        guard ([routes].compactMap(\.self) + maps).count(where: { $0 == "-" }) < 2 else {
            throw ValidationError("only one file can be standard input")
        }
    }

    /// Whether there are routes at all.
    var isGiven: Bool { routes != nil || demo }

    /// Throws when neither was given.
    func validateGiven() throws {
        guard isGiven else { throw ValidationError("the routes are missing: --routes FILE or --demo") }
    }

    /// The routes as they are listed, and the services when they are known.
    func file() throws -> RouteFile {
        if let routes { return try RouteFile(routes) }
        return RouteFile(try demoRouter(RouterConfiguration(registersLinked: false)).contract)
    }

    /// A router with the routes, the maps laid over them.
    func router(_ configuration: RouterConfiguration) throws -> Router {
        let router: Router
        if let file = routes {
            let list = try RouteFile(file)
            router = Router(configuration: configuration.completed(by: list.contract))
            try StandInRoutes.register(list, of: file, in: router)
        } else {
            router = try demoRouter(configuration)
        }
        do {
            let report = try router.relocate(try layers())
            for entry in report.inactive {
                Terminal.note("waypost: map \(entry.layer): entry \(entry.index + 1): \(entry.reason)")
            }
        } catch let error as RelocationError {
            throw CommandError(.failed, "map: \(error)")
        }
        return router
    }

    /// The maps, one layer a file.
    func layers() throws -> [RelocationLayer] {
        try maps.map { file in
            do {
                return RelocationLayer(name: file, entries: try MapFile.entries(file))
            } catch let refusal as Failure {
                throw CommandError(
                    .failed, "map \(file): \(refusal.code): \(refusal.detail)")
            }
        }
    }

    private func demoRouter(_ configuration: RouterConfiguration) throws -> Router {
        var configuration = configuration
        configuration.webPath = configuration.webPath ?? DemoFeatures.webPath
        let router = Router(configuration: configuration)
        // Nothing is opened, so nothing is ever kept there.
        try DemoFeatures.register(in: router, stateDirectory: "/nonexistent")
        return router
    }
}
