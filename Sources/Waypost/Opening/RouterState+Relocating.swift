/// Relocation layers that were checked and may be installed.
///
/// It holds nothing of the routes, so it stays valid while they change.
public struct CompiledRelocation: Sendable {
    /// The layers that it was made from.
    public let layers: [RelocationLayer]
    /// The program's own layers, below those that an agent lays over them.
    let builtIn: [RelocationLayer]
    let delivered: [RelocationLayer]
    /// Whether it changes what an agent delivered, and not the program's own.
    let isDelivery: Bool
    let plan: RelocationPlan

    /// Checks what the entries would open against the configuration, together with the layers that stay.
    init(
        _ layers: [RelocationLayer], isDelivery: Bool = false, for state: RouterState
    ) throws(RelocationError) {
        self.layers = layers
        self.isDelivery = isDelivery
        builtIn = isDelivery ? state.builtIn : layers
        delivered = isDelivery ? layers : state.delivered
        let configuration = state.configuration
        plan = try RelocationPlan(builtIn + delivered, maximumHops: configuration.maximumHops)
        for (redirect, place) in plan.redirects {
            for (path, field) in [(redirect.origin, "orginPath"), (redirect.target, "targetPath")] {
                guard path.text.utf8.count <= configuration.maximumURLBytes else {
                    throw place.error(
                        .tooLarge, field,
                        "\(field) has \(path.text.utf8.count) bytes, "
                            + "\(configuration.maximumURLBytes) are allowed")
                }
                let isService =
                    path.scheme == configuration.serviceScheme
                    && path.components.first == configuration.serviceHost
                    && (path.isSubtree || path.components.count == 1)
                guard !isService else {
                    throw place.error(
                        .notAllowed, field, "\(path.shown) is a service URL, which can not be relocated")
                }
            }
            let host = redirect.target.components.first ?? ""
            guard state.mayAllow(scheme: redirect.target.scheme, host: host) else {
                throw place.error(.notAllowed, "targetPath", "\(redirect.target.shown) is not allowed")
            }
        }
        for addition in plan.additions {
            let pattern = try state.pattern(addition.pattern, addition.place)
            let host: String? = if case .literal(let host) = pattern.segments.first { host } else { nil }
            guard state.mayAllow(scheme: pattern.scheme ?? "", host: host ?? "") else {
                throw addition.place.error(.notAllowed, "path", "\(addition.pattern) is not allowed")
            }
        }
        for deletion in plan.deletions { _ = try state.pattern(deletion.pattern, deletion.place) }
    }
}

extension RouterState {
    /// Puts a map in force, and says which entries do nothing in this build.
    mutating func install(_ compiled: CompiledRelocation) -> RelocationReport {
        // The layers that were to stay may have changed since it was checked.
        guard (compiled.isDelivery ? builtIn == compiled.builtIn : delivered == compiled.delivered) else {
            do throws(RelocationError) {
                let again = try CompiledRelocation(
                    compiled.layers, isDelivery: compiled.isDelivery, for: self)
                return install(again)
            } catch {
                return RelocationReport(
                    entries: plan.entries,
                    inactive: compiled.layers.flatMap { layer in
                        layer.entries.indices.map { index in
                            .init(layer: layer.name, index: index, reason: "\(error)")
                        }
                    })
            }
        }
        builtIn = compiled.builtIn
        delivered = compiled.delivered
        plan = compiled.plan
        let inactive = relocateRoutes() + inactiveRedirects()
        let order = Dictionary(
            layers.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        return RelocationReport(
            entries: plan.entries,
            inactive: inactive.sorted {
                (order[$0.layer] ?? 0, $0.index) < (order[$1.layer] ?? 0, $1.index)
            })
    }

    /// Whether the configuration does not forbid these; that no route has a scheme forbids nothing.
    fileprivate func mayAllow(scheme: String, host: String) -> Bool {
        (configuration.allowedSchemes == nil || allows(scheme: scheme)) && allows(host: host, scheme: scheme)
    }

    fileprivate func pattern(
        _ text: String, _ place: RelocationPlan.Place
    ) throws(RelocationError) -> RoutePattern {
        do throws(RegistrationError) {
            return try base.pattern(text)
        } catch {
            throw place.error(.badField, "path", "\(error)")
        }
    }

    /// Makes the routes in force from those of this build, and says which entries did nothing.
    @discardableResult
    mutating func relocateRoutes() -> [RelocationReport.Inactive] {
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
                guard allows(scheme: pattern.scheme ?? "") else {
                    inactive.append(
                        addition.place.inactive("no registered route has the scheme of \(addition.pattern)"))
                    continue
                }
                // The map wants this path to open that destination, so it takes a held place.
                routes.remove(pattern)
                try routes.add(
                    StoredRoute(
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
            for path in [redirect.origin, redirect.target] where !allows(scheme: path.scheme) {
                return place.inactive("no registered route has the scheme of \(path.shown)")
            }
            // Whether a subtree has its targets is only known URL by URL, when one is opened.
            guard !redirect.target.isSubtree, let url = try? RouteURL(redirect.target.text) as RouteURL,
                !opens(url, hops: configuration.maximumHops)
            else { return nil }
            return place.inactive("no route takes \(redirect.target.shown)")
        }
    }

    /// Whether a URL has a destination in this build, directly or over further redirects.
    ///
    /// Fallbacks do not count: they take everything, so a redirect to nowhere would always be in force.
    func opens(_ url: RouteURL, hops: Int) -> Bool {
        guard allows(scheme: url.scheme) else { return false }
        if routes.table.match(url).contains(where: { routes[$0.index]?.pattern.isFallback == false }) {
            return true
        }
        if isWeb(url), let web = webURL, opens(web, hops: 0) { return true }
        guard hops > 0, let redirect = plan.redirect(for: url),
            let next = try? RouteURL(redirect.apply(to: url, components: url.components)) as RouteURL
        else { return false }
        return opens(next, hops: hops - 1)
    }
}

extension RelocationPlan.Place {
    fileprivate func inactive(_ reason: String) -> RelocationReport.Inactive {
        .init(layer: layer, index: index, reason: reason)
    }

    fileprivate func error(_ code: Code, _ field: String, _ detail: String) -> RelocationError {
        RelocationError(code, layer: layer, index: index, field: field, detail: detail)
    }
}
