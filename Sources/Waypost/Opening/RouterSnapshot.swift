/// Everything an open needs, as it was at one moment; never changed, only replaced.
///
/// An open holds one from its beginning to its end, so it sees the old table or the new one, never a mix.
final class RouterSnapshot: Sendable {
    let state: RouterState

    init(_ state: RouterState) {
        self.state = state
    }
}

/// What a snapshot holds, and how a writer makes the next one.
struct RouterState: Sendable {
    let configuration: RouterConfiguration
    /// The routes that this build registered.
    private(set) var base: RouteSet
    /// The routes with those that relocation added and without those that it took away.
    private(set) var routes: RouteSet
    private(set) var layers: [RelocationLayer] = []
    private(set) var plan: RelocationPlan
    private var destinations: [String: Route] = [:]
    var interceptors: [Interceptor] = []

    init(_ configuration: RouterConfiguration) {
        self.configuration = configuration
        base = RouteSet(configuration)
        routes = base
        plan = RelocationPlan(maximumHops: configuration.maximumHops)
    }

    // MARK: Registering

    mutating func add(
        _ added: [Route], of module: DeclaredModule? = nil, replacing: Bool
    ) throws(RegistrationError) {
        for var route in added {
            route.module = module
            let pattern = try base.pattern(route.pattern)
            try base.add(RouteRecord(route: route, pattern: pattern), replacing: replacing)
        }
        if added.count > 100 { base.settle() }
        relocateRoutes()
    }

    mutating func remove(_ pattern: String) -> Bool {
        guard let pattern = try? base.pattern(pattern), base.remove(pattern) else { return false }
        relocateRoutes()
        return true
    }

    mutating func remove(_ module: DeclaredModule) {
        for record in Array(base.records) where record.route.module === module {
            base.remove(record.pattern, priority: record.route.priority)
        }
        relocateRoutes()
    }

    mutating func addDestination(_ destination: Route, named name: String) {
        destinations[name] = destination
        relocateRoutes()
    }

    /// The destination of that name: one that was registered as such, or the first route of that name.
    func destinations(named names: Set<String>) -> [String: Route] {
        var found = destinations.filter { names.contains($0.key) }
        guard found.count < names.count else { return found }
        for record in base.records {
            guard let name = record.route.name, names.contains(name), found[name] == nil else { continue }
            found[name] = record.route
        }
        return found
    }

    /// The patterns under which the destinations of these names were registered.
    private func ownPatterns(named names: Set<String>) -> [String: [String]] {
        guard !names.isEmpty else { return [:] }
        var found: [String: [String]] = [:]
        for record in base.records {
            if let name = record.route.name, names.contains(name) {
                found[name, default: []].append(record.pattern.text)
            }
        }
        return found
    }

    var destinationNames: Set<String> {
        Set(destinations.keys).union(base.records.compactMap(\.route.name))
    }

    // MARK: Relocating

    mutating func relocate(_ layers: [RelocationLayer]) throws(RelocationError) -> RelocationReport {
        let plan = try RelocationPlan(layers, maximumHops: configuration.maximumHops)
        try check(plan)
        self.layers = layers
        self.plan = plan
        let inactive = relocateRoutes() + inactiveRedirects()
        let order = Dictionary(
            layers.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        return RelocationReport(
            entries: plan.entries,
            inactive: inactive.sorted {
                (order[$0.layer] ?? 0, $0.index) < (order[$1.layer] ?? 0, $1.index)
            })
    }

    /// Checks what the entries would open against the allow-lists and the service URL.
    private func check(_ plan: RelocationPlan) throws(RelocationError) {
        for (redirect, place) in plan.redirects {
            for (path, field) in [(redirect.origin, "orginPath"), (redirect.target, "targetPath")] {
                guard path.text.utf8.count <= configuration.maximumURLBytes else {
                    throw RelocationError(
                        .tooLarge, layer: place.layer, index: place.index, field: field,
                        detail: "\(field) has \(path.text.utf8.count) bytes, "
                            + "\(configuration.maximumURLBytes) are allowed")
                }
                let isService =
                    path.scheme == configuration.serviceScheme
                    && path.components.first == configuration.serviceHost
                    && (path.isSubtree || path.components.count == 1)
                guard !isService else {
                    throw RelocationError(
                        .notAllowed, layer: place.layer, index: place.index, field: field,
                        detail: "\(path.text) is a service URL, which can not be relocated")
                }
            }
            try check(
                scheme: redirect.target.scheme, host: redirect.target.components.first, place, "targetPath",
                redirect.target.text)
        }
        for addition in plan.additions {
            let pattern = try pattern(addition.pattern, addition.place)
            let host: String? = if case .literal(let host) = pattern.segments.first { host } else { nil }
            try check(scheme: pattern.scheme ?? "", host: host, addition.place, "path", addition.pattern)
        }
        for deletion in plan.deletions { _ = try pattern(deletion.pattern, deletion.place) }
    }

    private func pattern(
        _ text: String, _ place: RelocationPlan.Place
    ) throws(RelocationError) -> RoutePattern {
        do throws(RegistrationError) {
            return try base.pattern(text)
        } catch {
            throw RelocationError(
                .badField, layer: place.layer, index: place.index, field: "path", detail: "\(error)")
        }
    }

    private func check(
        scheme: String, host: String?, _ place: RelocationPlan.Place, _ field: String, _ text: String
    ) throws(RelocationError) {
        guard allows(scheme: scheme), allows(host: host ?? "", scheme: scheme) else {
            throw RelocationError(
                .notAllowed, layer: place.layer, index: place.index, field: field,
                detail: "\(text) is not allowed")
        }
    }

    /// Makes the routes in force from those of this build, and says which entries did nothing.
    @discardableResult
    private mutating func relocateRoutes() -> [RelocationReport.Inactive] {
        routes = base
        guard !plan.additions.isEmpty || !plan.deletions.isEmpty else { return [] }
        var inactive: [RelocationReport.Inactive] = []
        for deletion in plan.deletions {
            guard let pattern = try? base.pattern(deletion.pattern), routes.remove(pattern) else {
                inactive.append(deletion.place.inactive("no route \(deletion.pattern) is registered"))
                continue
            }
        }
        let names = Set(plan.additions.map(\.className))
        let known = destinations(named: names)
        let ownPatterns = ownPatterns(named: names)
        for addition in plan.additions {
            guard var route = known[addition.className] else {
                inactive.append(addition.place.inactive("no destination is known as \(addition.className)"))
                continue
            }
            route.pattern = addition.pattern
            route.name = addition.className
            route.priority = 0
            route.takesDeeper = false
            do throws(RegistrationError) {
                let pattern = try routes.pattern(addition.pattern)
                // Whoever sends the map wants this path to open that destination, so it takes a held place.
                _ = routes.remove(pattern)
                try routes.add(
                    RouteRecord(
                        route: route, pattern: pattern, params: addition.params,
                        ownPatterns: ownPatterns[addition.className] ?? []), replacing: true)
            } catch {
                inactive.append(addition.place.inactive("\(error)"))
            }
        }
        return inactive
    }

    private func inactiveRedirects() -> [RelocationReport.Inactive] {
        plan.redirects.compactMap { redirect, place in
            if !allows(scheme: redirect.origin.scheme) {
                return place.inactive("the scheme of \(redirect.origin.text) may not be opened")
            }
            // Whether a subtree has its targets is only known URL by URL, when one is opened.
            guard !redirect.target.isSubtree, let url = try? RouteURL(redirect.target.text) as RouteURL,
                !opens(url, hops: configuration.maximumHops)
            else { return nil }
            return place.inactive("no route takes \(redirect.target.text)")
        }
    }

    /// Whether a URL has a destination in this build, directly or over further redirects.
    ///
    /// Fallbacks do not count: they take everything, so a redirect to nowhere would always be in force.
    func opens(_ url: RouteURL, hops: Int) -> Bool {
        if routes.table.match(url).contains(where: { routes[$0.index]?.pattern.isFallback == false }) {
            return true
        }
        if isWeb(url), let web = webURL, opens(web, hops: 0) { return true }
        let components = url.components
        guard hops > 0, let redirect = plan.redirect(for: url, components: components),
            let next = try? RouteURL(redirect.apply(to: url, components: components)) as RouteURL
        else { return false }
        return opens(next, hops: hops - 1)
    }

    // MARK: Allowing

    func allows(scheme: String) -> Bool {
        if scheme.isEmpty { return true }
        if let allowed = configuration.allowedSchemes { return allowed.contains(scheme) }
        if scheme == configuration.serviceScheme || base.names(scheme: scheme) { return true }
        return configuration.webPath != nil && (scheme == "http" || scheme == "https")
    }

    func allows(host: String, scheme: String) -> Bool {
        guard let allowed = configuration.allowedHosts else { return true }
        // In an app's own scheme the host is the first component of a route and has case; a web host has none.
        let host = scheme == "http" || scheme == "https" ? host.lowercased() : host
        if allowed.contains(host) { return true }
        return allowed.contains { $0.hasPrefix("*.") && host.hasSuffix($0.dropFirst()) }
    }

    func isWeb(_ url: RouteURL) -> Bool {
        configuration.webPath != nil && (url.scheme == "http" || url.scheme == "https")
    }

    var webURL: RouteURL? {
        configuration.webPath.flatMap { try? RouteURL($0) as RouteURL }
    }
}

extension RelocationPlan.Place {
    func inactive(_ reason: String) -> RelocationReport.Inactive {
        .init(layer: layer, index: index, reason: reason)
    }
}
