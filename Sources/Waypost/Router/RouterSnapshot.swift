/// Everything an open needs, as it was at one moment; never changed, only replaced.
///
/// An open holds one from its beginning to its end, so it sees the old table or the new one, never a mix.
final class RouterSnapshot: Sendable {
    let state: RouterState
    // Of its plan.
    let followsMaps, mapsArePlain, guardsPages: Bool
    private let origins: RouteTable?

    init(_ state: RouterState) {
        self.state = state
        (followsMaps, mapsArePlain) = (!state.plan.isEmpty, state.plan.isPlain)
        (guardsPages, origins) = (state.plan.guards.origins != nil, state.plan.origins)
    }

    // Members of the snapshot and not of its parts, for a part is copied before one of its members is read.

    /// The redirect that takes a URL, if any; see ``RelocationPlan/hop(for:_:_:_:)``.
    func hop(
        for url: RouteURL, _ requester: RelocationRequester?, _ decisions: inout [RelocationDecision]?,
        _ steps: inout RelocationSteps
    ) -> RelocationPlan.Hop? {
        guard mapsArePlain else { return state.plan.hop(for: url, requester, &decisions, &steps) }
        return origins?.firstMatch(url).flatMap { state.plan.plainHop($0, url) }
    }

    /// What a map does to the opens of a page; nil for nothing.
    func guarding(
        _ url: RouteURL, _ requester: RelocationRequester?, _ decisions: inout [RelocationDecision]?,
        _ steps: inout RelocationSteps
    ) -> PageGuard? {
        state.plan.guarding(url, requester, &decisions, &steps)
    }

    /// Whether this build opens a scheme; see ``RouterState/allows(scheme:byName:)``.
    func allows(scheme: String) -> Bool { state.allows(scheme: scheme) }

    /// Whether a URL has a destination in this build; see ``RouterState/opens(_:hops:_:_:)``.
    func opens(_ url: RouteURL, _ requester: RelocationRequester?, _ steps: inout RelocationSteps) -> Bool {
        state.opens(url, hops: state.configuration.maximumHops, requester, &steps)
    }

    /// Reads a URL; see ``RouterState/read(_:)``.
    func read(_ text: String) throws(Failure) -> RouteURL { try state.read(text) }

    /// Whether the URL calls a service.
    func isService(_ url: RouteURL) -> Bool { ServiceURL.matches(url, state.configuration) }
}

/// What a snapshot holds, and how a writer makes the next one.
package struct RouterState: Sendable {
    package let configuration: RouterConfiguration
    /// The routes that this build registered.
    package private(set) var base: RouteStore
    /// The routes with those that relocation added and without those that it took away.
    package var routes: RouteStore
    /// The patterns that relocation took away, each with the entry that did.
    package var deletions: [(pattern: RoutePattern, place: RelocationPlan.Place)] = []
    /// The layers that the program set itself.
    var builtIn: [RelocationLayer] = []
    /// The layers that an agent lays over them.
    var delivered: [RelocationLayer] = []
    package var layers: [RelocationLayer] { builtIn + delivered }
    package var plan: RelocationPlan
    /// What the conditions of maps ask about this client.
    package var context: RelocationContext
    /// What was said of its build.
    var saidOfBuild: String?
    /// What tells a destination from a later one of its name.
    final class DestinationMark: Sendable {}
    private var destinations: [String: (route: Route, mark: DestinationMark)] = [:]
    package var interceptors: [Interceptor] = []
    /// What maps may have opens go through, in the order of adding.
    var gates: [Interceptor] = []
    /// Whether all gates of the program are here; not where only a list of routes is known.
    private(set) var knowsGates = true
    /// The services that entries about calls mean; nil where none are known.
    let services: ServiceRegistry?
    var hooks: [OpenHook] = []
    package var hasHooks: Bool { !hooks.isEmpty }

    package init(_ configuration: RouterConfiguration, services: ServiceRegistry? = nil) {
        self.configuration = configuration
        self.services = services
        base = RouteStore(configuration)
        routes = base
        plan = RelocationPlan(maximumHops: configuration.maximumHops)
        context = configuration.relocationContext
    }

    /// Adds an interceptor behind those of its priority and of higher ones.
    mutating func insert(_ interceptor: Interceptor) {
        let place =
            interceptors.firstIndex { $0.priority < interceptor.priority } ?? interceptors.count
        interceptors.insert(interceptor, at: place)
    }

    /// Takes the names of a program's gates, for a check; nil when they are not known.
    package mutating func know(gates names: [String]?) {
        knowsGates = names != nil
        gates = (names ?? []).map { name in
            Interceptor(gate: Hook(id: 0, name: name, deadline: nil, work: .immediate { _ in .proceed }))
        }
    }

    /// The gate of that name that was added last.
    func gate(named name: String) -> Interceptor? { gates.last { $0.name == name } }

    // MARK: Registering

    /// What one registration added, for the handle that takes it away again.
    struct Added: Sendable {
        var routes: [StoredRoute] = []
        /// Destinations without a path, by name.
        var destinations: [String: DestinationMark] = [:]
        var replaced: [String] = []
    }

    /// Adds routes; further paths get the destinations that are registered under their names, here or before.
    @discardableResult
    mutating func add(
        _ routes: [Route], of module: DeclaredModule? = nil, replacing: Bool
    ) throws(RegistrationError) -> Added {
        var added = Added()
        for var route in routes {
            route.module = module
            if let pattern = route.pattern {
                if route.isFurtherPath { continue }
                if let key = route.properties?.key, key != pattern {
                    throw .mismatch(
                        pattern: pattern.rawValue,
                        detail:
                            "the URLs of \(route.properties?.type ?? "its type") are those of \(key), and would not "
                            + "lead here; write the whole pattern in its key")
                }
                try add(route, at: pattern, replacing, &added)
            } else if let name = route.name {
                try add(destination: route, named: name, replacing, &added)
            }
        }
        let paths = routes.filter(\.isFurtherPath)
        let known = destinations(named: Set(paths.compactMap(\.name)))
        for path in paths {
            guard let name = path.name, let pattern = path.pattern else { continue }
            guard var route = known[name].map(path.path) else {
                throw .unknownDestination(
                    name, pattern: pattern.rawValue,
                    nearest: NearestNames.find(name, among: destinationNames, limit: 3))
            }
            route.module = module ?? route.module
            try add(route, at: pattern, replacing, &added)
        }
        if routes.count > 100 { base.compact() }
        relocateRoutes()
        return added
    }

    /// Adds one route of no module, where no other has its place.
    package mutating func add(_ route: Route) throws(RegistrationError) {
        try add([route], replacing: false)
    }

    private mutating func add(
        _ route: Route, at pattern: RouteKey, _ replacing: Bool, _ added: inout Added
    ) throws(RegistrationError) {
        let record = StoredRoute(route: route, pattern: try base.pattern(pattern.rawValue))
        if let problem = record.mismatch { throw .mismatch(pattern: pattern.rawValue, detail: problem) }
        if let replaced = try base.add(record, replacing: replacing) { added.replaced.append(replaced) }
        added.routes.append(record)
    }

    private mutating func add(
        destination: Route, named name: String, _ replacing: Bool, _ added: inout Added
    ) throws(RegistrationError) {
        if destinations[name] != nil {
            guard replacing else { throw .destinationTaken(name) }
            added.replaced.append(name)
        }
        let mark = DestinationMark()
        destinations[name] = (destination, mark)
        added.destinations[name] = mark
    }

    /// Removes what one registration added, as far as nothing else took its place.
    mutating func remove(_ added: Added) {
        let wanted = Set(added.routes.map(ObjectIdentifier.init))
        for record in Array(base.records) where wanted.contains(ObjectIdentifier(record)) {
            base.remove(record.pattern, priority: record.route.priority)
        }
        for (name, mark) in added.destinations where destinations[name]?.mark === mark {
            destinations[name] = nil
        }
        relocateRoutes()
    }

    mutating func remove(_ pattern: RouteKey) -> Bool {
        guard let pattern = try? base.pattern(pattern.rawValue), base.remove(pattern) else { return false }
        relocateRoutes()
        return true
    }

    mutating func remove(_ module: DeclaredModule) {
        for record in Array(base.records) where record.route.module === module {
            base.remove(record.pattern, priority: record.route.priority)
        }
        for (name, entry) in destinations where entry.route.module === module { destinations[name] = nil }
        relocateRoutes()
    }

    /// The destinations that have no path of their own, for which a map may add some.
    package var pathlessDestinations: some Collection<Route> { destinations.values.lazy.map(\.route) }

    /// The destination of that name: one that was registered as such, or the first route of that name.
    func destinations(named names: Set<String>) -> [String: Route] {
        var found = destinations.filter { names.contains($0.key) }.mapValues(\.route)
        guard found.count < names.count else { return found }
        for record in base.records {
            guard let name = record.route.name, names.contains(name), found[name] == nil else { continue }
            found[name] = record.route
        }
        return found
    }

    /// The patterns under which the destinations of these names were registered.
    func ownPatterns(named names: Set<String>) -> [String: [RoutePattern]] {
        guard !names.isEmpty else { return [:] }
        var found: [String: [RoutePattern]] = [:]
        for record in base.records {
            if let name = record.route.name, names.contains(name) {
                found[name, default: []].append(record.pattern)
            }
        }
        return found
    }

    var destinationNames: Set<String> {
        Set(destinations.keys).union(base.records.compactMap(\.route.name))
    }

    // MARK: Allowing

    /// Reads a URL and checks it against the limits and allow-lists.
    package func read(_ text: String) throws(Failure) -> RouteURL {
        guard text.utf8.count <= configuration.maximumURLBytes else {
            throw .tooLarge(
                "the URL has \(text.utf8.count) bytes; at most \(configuration.maximumURLBytes) are allowed")
        }
        let url: RouteURL
        do throws(RouteURLError) {
            url = try RouteURL(text)
        } catch {
            throw .badField("url: \(error)")
        }
        guard allows(schemeOf: url) else {
            throw Failure(
                .notAllowed, "the scheme \(url.scheme.cut(to: 64)) may not be opened",
                nearest: nearest(to: url))
        }
        guard configuration.allowedHosts == nil || allows(host: url.host, scheme: url.scheme) else {
            throw .notAllowed("the host \(url.host.cut(to: 200)) may not be opened")
        }
        return url
    }

    /// The URL with the schemes that one may have meant.
    private func nearest(to url: RouteURL) -> [String] {
        guard let colon = url.text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return [] }
        let schemes = configuration.allowedSchemes.map { Array($0) } ?? base.schemeNames
        let rest = String(url.text[colon...]).cut(to: 500)
        return NearestNames.find(url.scheme, among: schemes, limit: 1).map { $0 + rest }
    }

    private func allows(schemeOf url: RouteURL) -> Bool {
        // In most programs all routes have one scheme, with which that of the URL is compared where it stands.
        if configuration.allowedSchemes == nil, let only = base.onlyScheme, url.hasScheme(only) {
            return true
        }
        return allows(scheme: url.scheme, byName: url.parts.isWithoutAuthority)
    }

    /// Whether this build opens a scheme: the configuration allows it, or else a route has it.
    ///
    /// - Parameter byName: Whether that no route names a scheme does not count: `tel:1` and `javascript:x` are no
    ///   paths of the app, and must not meet routes for any scheme.
    func allows(scheme: String, byName: Bool = false) -> Bool {
        if scheme.isEmpty { return true }
        if let allowed = configuration.allowedSchemes { return allowed.contains(scheme) }
        if scheme == configuration.serviceScheme || base.has(scheme: scheme) { return true }
        if !byName, configuration.dialect.keysTakeAnyScheme ? base.hasKeys : base.takesAnyScheme {
            return true
        }
        return configuration.webPath != nil && (scheme == "http" || scheme == "https")
    }

    func allows(host: String, scheme: String) -> Bool {
        guard let allowed = configuration.allowedHosts else { return true }
        if allowed.contains(host) { return true }
        // In an app's own scheme the host is the first component of a route and has case; a web host has none.
        let isWeb = scheme == "http" || scheme == "https"
        let host = isWeb ? HostName.normalized(host) : host
        return allowed.contains {
            let name = isWeb ? HostName.normalized($0) : $0
            return name == host || (name.hasPrefix("*.") && host.hasSuffix(name.dropFirst()))
        }
    }

    package func isWeb(_ url: RouteURL) -> Bool {
        configuration.webPath != nil && (url.scheme == "http" || url.scheme == "https")
    }

    package var webURL: RouteURL? {
        configuration.webPath.flatMap { try? RouteURL($0.rawValue) as RouteURL }
    }
}
