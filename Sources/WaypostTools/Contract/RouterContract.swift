public import Waypost

/// What a router can open and call, so that others know it in advance: `{"router","routes","services","redirects","deleted","gates","mapKinds"}`.
///
/// It is what an agent publishes, and `waypost describe --json` prints. A unit test makes one of its router, keeps it in
/// a file, and holds what is registered later against it with `Router.check(against:)`.
public struct RouterContract: Sendable, Hashable {
    /// The settings on which it depends what a URL opens.
    package var settings: Settings
    /// The routes, with their parameters.
    public package(set) var routes: [RouteDescription]
    /// The services that may be called from outside, with their methods.
    public package(set) var services: [ServiceDescription]
    /// The origins of all redirects in force: where a URL that one of them matches leads is not known.
    package var redirects: [String]
    /// The paths that maps took away.
    package var deletions: [Deletion] = []
    /// The names of the program's gates, through which maps may have opens go.
    public package(set) var gates: [String] = []
    /// The named kinds of map entries that it knows; empty for an older version, which refuses a map with any.
    package var mapKinds: [String] = []

    /// A path that a map took away.
    package struct Deletion: Sendable, Hashable {
        package var path: String
        /// The entry, for people: `entry 1 of patch`.
        package var entry: String

        package var json: JSONValue { ["path": .string(path), "by": .string(entry)] }
    }

    package init(
        settings: Settings = Settings(), routes: [RouteDescription] = [],
        services: [ServiceDescription] = [], redirects: [String] = []
    ) {
        self.settings = settings
        self.routes = routes
        self.services = services
        self.redirects = redirects
    }

    /// The settings of a router, as far as look-up depends on them.
    package struct Settings: Sendable, Hashable {
        package var dialect: Dialect
        package var ignoresCase = false
        package var webPath: String?
        package var allowedSchemes: Set<String>?
        package var serviceScheme: String
        package var serviceHost: String
        /// Whether the program may change each URL before anything else, which no document says in advance.
        package var hasHooks = false

        init(_ configuration: RouterConfiguration = RouterConfiguration(), hasHooks: Bool = false) {
            dialect = configuration.dialect
            ignoresCase = configuration.ignoresCase
            webPath = configuration.webPath?.rawValue
            allowedSchemes = configuration.allowedSchemes
            serviceScheme = configuration.serviceScheme
            serviceHost = configuration.serviceHost
            self.hasHooks = hasHooks
        }

        /// A router of these settings, without the routes that were declared in this process.
        package var configuration: RouterConfiguration {
            RouterConfiguration(
                dialect: dialect, allowedSchemes: allowedSchemes,
                webPath: webPath.map(RouteKey.init(_:)),
                serviceScheme: serviceScheme, serviceHost: serviceHost, ignoresCase: ignoresCase,
                registersLinked: false)
        }

        package var json: JSONValue {
            var members: [String: JSONValue] = [
                "dialect": .string(dialect.name),
                "service": .string("\(serviceScheme)://\(serviceHost)"),
            ]
            members["host"] = dialect.syntax.host.map { .string($0) }
            members["webPath"] = webPath.map { .string($0) }
            members["allowedSchemes"] = allowedSchemes.map { .array($0.sorted().map { .string($0) }) }
            if ignoresCase { members["ignoresCase"] = true }
            if hasHooks { members["hooks"] = true }
            return .object(members)
        }

        /// Reads the settings; what is absent or not known is as usual.
        init(_ json: JSONValue?) {
            self.init()
            if let known = json?["dialect"]?.stringValue.flatMap({ Dialect(name: $0) }) { dialect = known }
            if let host = json?["host"]?.stringValue, dialect == .reerRouter {
                dialect = .reerRouter(host: host)
            }
            if let service = json?["service"]?.stringValue.flatMap({ try? RouteURL($0) as RouteURL }),
                let host = service.components.first
            {
                (serviceScheme, serviceHost) = (service.scheme, host)
            }
            webPath = json?["webPath"]?.stringValue
            allowedSchemes = json?["allowedSchemes"]?.arrayValue.map { Set($0.compactMap(\.stringValue)) }
            ignoresCase = json?["ignoresCase"] == true
            hasHooks = json?["hooks"] == true
        }
    }

    /// As JSON; `init(_:)` reads it.
    public var json: JSONValue {
        var members: [String: JSONValue] = [
            "router": settings.json, "routes": .array(routes.map(\.json)),
            "services": .array(services.map(\.json)), "redirects": .array(redirects.map { .string($0) }),
        ]
        if !deletions.isEmpty {
            members["deleted"] = .array(deletions.map(\.json))
        }
        if !gates.isEmpty { members["gates"] = .array(gates.map { .string($0) }) }
        if !mapKinds.isEmpty { members["mapKinds"] = .array(mapKinds.map { .string($0) }) }
        return .object(members)
    }

    /// As text for a file, a line for each member, so that a change of it can be read.
    public var text: String { json.prettyText + "\n" }

    /// Reads a document, or a list of routes alone.
    ///
    /// - Throws: ``RouteImportError`` naming the route and the field.
    public init(_ json: JSONValue) throws(RouteImportError) {
        let isList = json.arrayValue != nil
        guard isList || json.objectValue != nil else {
            throw RouteImportError(
                index: nil, field: nil,
                detail: "a contract should be a list of routes or an object but is \(json.kind)")
        }
        self.init(
            settings: Settings(json["router"]),
            routes: try RouteDescription.list(isList ? json : json["routes"] ?? .array([])),
            services: json["services"]?.arrayValue?.compactMap(ServiceDescription.init) ?? [],
            redirects: json["redirects"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        gates = json["gates"]?.arrayValue?.compactMap(\.stringValue) ?? []
        mapKinds = json["mapKinds"]?.arrayValue?.compactMap(\.stringValue) ?? []
        deletions = (json["deleted"]?.arrayValue ?? []).compactMap { deletion in
            deletion["path"]?.stringValue.map {
                Deletion(path: $0, entry: deletion["by"]?.stringValue ?? "a map")
            }
        }
    }
}

extension RouterContract {
    /// Why a program with this contract refuses a whole map with these entries; nil when it knows their kinds.
    package func unknownKind(in entries: [RelocationEntry]) -> Failure? {
        for (index, entry) in entries.enumerated() {
            guard let name = entry.kindName, !mapKinds.contains(name) else { continue }
            return Failure(
                .unknownKind,
                "entry \(index + 1): routerType \(name) is not known to this version of the agent; update it, or send it "
                    + "another map")
        }
        return nil
    }
}

extension Router {
    /// Registers services and gates of which only the contract is known; nothing of them runs.
    package func registerStandIns(for contract: RouterContract) throws(RegistrationError) {
        for service in contract.services { try services.expose(ExposedService(standInFor: service)) }
        for name in contract.gates { gate(name) { _ in .proceed } }
    }

    /// What this router can open and call, its maps applied: what an agent with it publishes.
    public var contract: RouterContract {
        var contract = contractWithoutRoutes
        contract.routes = routes
        return contract
    }

    /// The same without the routes, of which there may be very many.
    package var contractWithoutRoutes: RouterContract {
        var contract = RouterContract(
            settings: .init(configuration, hasHooks: state.hasHooks),
            services: services.services,
            redirects: Set(state.plan.redirects.map(\.redirect.origin.text)).sorted())
        contract.deletions = state.deletions.map { .init(path: $0.pattern.text, entry: $0.place.text) }
        contract.gates = gateNames
        contract.mapKinds = RelocationEntry.namedKinds
        return contract
    }
}

// MARK: Services

extension ServiceDescription {
    /// `{"name","methods"}`.
    package var json: JSONValue { ["name": .string(name), "methods": .array(methods.map(\.json))] }

    /// Reads an exported service; nil when it has no name.
    init?(_ json: JSONValue) {
        guard let name = json["name"]?.stringValue else { return nil }
        self.init(
            name: name, methods: json["methods"]?.arrayValue?.compactMap(MethodDescription.init) ?? [])
    }
}

extension MethodDescription {
    /// `{"name","selector","arguments","result","idempotent"}`.
    var json: JSONValue {
        [
            "name": .string(name), "selector": .string(selector),
            "arguments": .array(
                arguments.map { .object($0.value.members.merging(["label": .string($0.label)]) { $1 }) }),
            "result": .object(result.members), "idempotent": .bool(idempotent),
        ]
    }

    /// Reads an exported method; nil when it has no name.
    init?(_ json: JSONValue) {
        guard let name = json["name"]?.stringValue else { return nil }
        self.init(
            name: name, selector: json["selector"]?.stringValue ?? name,
            arguments: (json["arguments"]?.arrayValue ?? []).map {
                Argument(label: $0["label"]?.stringValue ?? "_", value: Value($0))
            },
            result: Value(json["result"] ?? .null), idempotent: json["idempotent"] == true)
    }
}
