import Waypost
import WaypostMessages

/// What the command's options give to cases that leave it out, and the router of the case before.
struct ResolveDefaults {
    private let source: RouteSource
    private let setup: RouterSetup
    private let client: ClientSetup
    private let routes: [RouteDescription]?
    private let layers: [RelocationLayer]

    init(_ source: RouteSource, _ options: RouterOptions, _ client: ClientSetup) throws {
        self.source = source
        setup = try options.setup()
        self.client = client
        routes = source.isGiven ? RouteFile.known(try source.list(), setup.configuration) : nil
        layers = try source.layers()
    }

    /// The router that a case asks for.
    ///
    /// - Throws: ``Rejection`` when its routes do not fit together.
    func router(_ table: ResolveCase.Table) throws(Rejection) -> Router {
        let setup = table.setup ?? setup
        let router: Router
        let listed =
            table.routes.map { $0.map { RouteDescription(path: $0, priority: table.priorities[$0] ?? 0) } }
            ?? routes
        guard let listed else { throw Rejection(.badField, "routes is missing, and no --routes was given") }
        var configuration = setup.configuration.withWebRoute(of: listed)
        configuration.relocationContext = (table.client ?? client).context
        router = Router(configuration: configuration)
        do {
            try router.register(listed.map { Route($0) { _ in .opened() } })
        } catch {
            throw Rejection(.badField, "routes: \(error)")
        }
        // A destination that only a map names is taken as known: the case has no classes of its own.
        for name in table.maps.flatMap(Self.classNames) where !router.knows(name) {
            router.registerDestination(name) { _ in .opened() }
        }
        var patches = RelocationLayer(name: "patch", entries: [])
        if !layers.isEmpty { _ = try? router.relocate(layers) }
        for map in table.maps {
            var next = patches
            guard let entries = try? MapFile.entries(map) else { continue }
            next.patch(entries)
            // A patch that is refused changes nothing, as in an agent.
            guard (try? router.relocate(layers + [next])) != nil else { continue }
            patches = next
        }
        return router
    }

    private static func classNames(_ map: JSONValue) -> [String] {
        (map["entries"] ?? map).arrayValue?.compactMap { $0["className"]?.stringValue }
            ?? [map["className"]?.stringValue].compactMap(\.self)
    }
}
