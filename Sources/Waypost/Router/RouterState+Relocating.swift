/// Relocation layers that were checked and may be installed.
///
/// It holds nothing of the routes, so it stays valid while they change.
package struct CompiledRelocation: Sendable {
    /// The layers that it was made from.
    public let layers: [RelocationLayer]
    /// The program's own layers, below those that an agent lays over them.
    let builtIn: [RelocationLayer]
    let delivered: [RelocationLayer]
    /// Whether it changes what an agent delivered, and not the program's own.
    let isDelivery: Bool
    let plan: RelocationPlan
    /// How much of the work that a map may take checking it took, in per cent.
    package var effort: Int { plan.effort }

    /// Checks what the entries would open against the configuration, together with the layers that stay.
    init(
        _ layers: [RelocationLayer], isDelivery: Bool = false, for state: RouterState
    ) throws(RelocationError) {
        var refusals = RelocationRefusals()
        try self.init(layers, isDelivery: isDelivery, for: state, &refusals)
    }

    /// The same with what is done about what is refused; one whose refusals are kept is for a check alone.
    package init(
        _ layers: [RelocationLayer], isDelivery: Bool = false, for state: RouterState,
        _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        self.layers = layers
        self.isDelivery = isDelivery
        builtIn = isDelivery ? state.builtIn : layers
        delivered = isDelivery ? layers : state.delivered
        let configuration = state.configuration
        plan = try RelocationPlan(
            builtIn + delivered, maximumHops: configuration.maximumHops, converters: configuration.converters,
            ignoresCase: configuration.ignoresCase, allowed: configuration.mapSteps, &refusals)
        for (redirect, place) in plan.redirects {
            for (text, field) in [(redirect.origin.text, "orginPath"), (redirect.target.text, "targetPath")]
            where text.utf8.count > configuration.maximumURLBytes {
                let detail =
                    "\(field) has \(text.utf8.count) bytes; at most \(configuration.maximumURLBytes) are allowed"
                try refusals.add(place.error(.tooLarge, field, detail))
            }
            if !state.mayAllow(scheme: redirect.target.scheme ?? "", host: redirect.target.host) {
                let detail = "\(redirect.target.shown) is not allowed"
                try refusals.add(place.error(.notAllowed, "targetPath", detail))
            }
        }
        try checkServiceURLs(configuration, &refusals)
        for rule in plan.additions + plan.deletions {
            _ = try refusals.attempt { () throws(RelocationError) in try state.check(rule) }
        }
    }
}

extension CompiledRelocation {
    /// A service URL is a call, and no page: what happens to it is said of the service.
    private func checkServiceURLs(
        _ configuration: RouterConfiguration, _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        var texts = (plan.rules + plan.guards.rules).joined().map {
            ($0.origin.text, $0.originField, $0.place)
        }
        texts += plan.redirects.map { ($0.redirect.target.text, "targetPath", $0.place) }
        texts += plan.paths.joined().map { ($0.pattern, "path", $0.place) }
        for (text, field, place) in texts {
            guard let url = try? RouteURL(text) as RouteURL, url.hasScheme(configuration.serviceScheme),
                url.components.first == configuration.serviceHost,
                url.components.count == 1 || url.components.dropFirst().elementsEqual(["**"])
            else { continue }
            let service = url.query["protocol"].map { "\"\($0.cut(to: 64))\"" } ?? "…"
            let method = url.query["method"].map { ",\"method\":\"\($0.cut(to: 64))\"" } ?? ""
            let detail =
                "\(RouteURL.withoutValues(text)) is a service URL, which cannot be relocated, deleted or gated; say it of "
                + "the service: {\"routerType\":\"off\",\"service\":\(service)\(method)}, or answer or replace its methods"
            try refusals.add(place.error(.notAllowed, field, detail))
        }
    }
}

extension RouterState {
    fileprivate func check(_ rule: RelocationPathRule) throws(RelocationError) {
        let pattern = try pattern(rule.pattern, rule.place)
        guard rule.className != nil else { return }
        let host: String? = if case .literal(let host) = pattern.segments.first { host } else { nil }
        guard mayAllow(scheme: pattern.scheme ?? "", host: host ?? "") else {
            throw rule.place.error(.notAllowed, "path", "\(rule.pattern) is not allowed")
        }
    }

    /// Puts a map in force, and says which entries do nothing in this build.
    package mutating func install(_ compiled: CompiledRelocation) -> RelocationReport {
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
        let inactive = inactiveEntries()
        let order = Dictionary(
            layers.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        return RelocationReport(
            entries: plan.entries,
            inactive: inactive.sorted {
                (order[$0.layer] ?? 0, $0.index) < (order[$1.layer] ?? 0, $1.index)
            },
            conditional: conditional.sorted {
                (order[$0.layer] ?? 0, $0.index) < (order[$1.layer] ?? 0, $1.index)
            })
    }

    /// Makes the routes in force, and says which entries do nothing in this build.
    package mutating func inactiveEntries() -> [RelocationReport.Inactive] {
        plan.faults.map { $0.place.inactive($0.reason) } + relocateRoutes() + inactiveRedirects()
            + inactiveGuards() + inactiveCalls()
    }

    /// Changes what the conditions of maps ask about this client.
    ///
    /// - Returns: What is wrong with its build, once; each entry that asks for it would say the same.
    mutating func updateContext(_ change: (inout RelocationContext) -> Void) -> String? {
        let redaction = context.redaction
        change(&context)
        context.redaction = redaction
        relocateRoutes()
        let fault = context.buildFault
        defer { saidOfBuild = fault }
        return fault == saidOfBuild ? nil : fault
    }

    private var conditional: [RelocationReport.Conditional] {
        plan.conditions.map { place, condition in
            let (state, reason): (RelocationReport.Conditional.State, String) =
                switch condition.answer(context) {
                case .yes(let reason): (.yes, reason)
                case .no(let reason): (.no, reason)
                case .depends(let reason): (.depends, reason)
                }
            return .init(layer: place.layer, index: place.index, state: state, reason: reason)
        }
    }

    /// Whether the configuration does not forbid these; that no route has a scheme forbids nothing.
    ///
    /// - Parameter host: nil when only an open says it; it is checked then.
    fileprivate func mayAllow(scheme: String, host: String?) -> Bool {
        (configuration.allowedSchemes == nil || allows(scheme: scheme))
            && host.map { allows(host: $0, scheme: scheme) } ?? true
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
        deletions = []
        guard !plan.paths.isEmpty else { return [] }
        var inactive: [RelocationReport.Inactive] = []
        let chosen = chosenPaths(&inactive)
        for deletion in chosen where deletion.className == nil {
            guard let pattern = try? base.pattern(deletion.pattern), routes.remove(pattern) else {
                inactive.append(deletion.place.inactive("no route \(deletion.pattern) is registered"))
                continue
            }
            deletions.append((pattern, deletion.place))
        }
        let names = Set(chosen.compactMap(\.className))
        let known = destinations(named: names)
        let ownPatterns = ownPatterns(named: names)
        for addition in chosen {
            guard let className = addition.className else { continue }
            guard var route = known[className] else {
                inactive.append(addition.place.inactive("no destination is named \(className)"))
                continue
            }
            route.pattern = RouteKey(addition.pattern)
            route.name = className
            route.priority = 0
            route.takesDeeper = false
            do throws(RegistrationError) {
                let pattern = try routes.pattern(addition.pattern)
                guard allows(scheme: pattern.scheme ?? "") else {
                    inactive.append(
                        addition.place.inactive("no registered route has the scheme \(pattern.scheme ?? "")"))
                    continue
                }
                let record = StoredRoute(
                    route: route, pattern: pattern, params: addition.params,
                    ownPatterns: ownPatterns[className] ?? [])
                if let mismatch = record.mismatch {
                    inactive.append(addition.place.inactive(mismatch))
                    continue
                }
                // The map wants this path to open that destination, so it takes a held place.
                routes.remove(pattern)
                _ = try routes.add(record, replacing: true)
            } catch {
                inactive.append(addition.place.inactive("\(error)"))
            }
        }
        return inactive
    }

    /// Of each path the first rule whose condition holds.
    private func chosenPaths(_ inactive: inout [RelocationReport.Inactive]) -> [RelocationPathRule] {
        plan.paths.compactMap { alternatives in
            alternatives.first { rule in
                switch rule.condition?.answer(context) {
                case nil, .yes: return true
                case .no: return false
                case .depends:
                    inactive.append(
                        rule.place.inactive("only a redirect can depend on the time or on a parameter"))
                    return false
                }
            }
        }
    }

    /// The entry that took away the route of a URL that no route matches now; nil when none did.
    func deletion(of url: RouteURL) -> RelocationPlan.Place? {
        guard !deletions.isEmpty else { return nil }
        let taken = base.table.allMatches(url).compactMap { base[$0.index]?.pattern }
        return deletions.first { deletion in taken.contains { $0.takesTheSame(as: deletion.pattern) } }?.place
    }

    private func inactiveRedirects() -> [RelocationReport.Inactive] {
        var steps = configuration.mapSteps
        return plan.redirects.compactMap { redirect, place in
            for scheme in [redirect.origin.scheme, redirect.target.scheme] {
                if let scheme, !allows(scheme: scheme) {
                    return place.inactive("no registered route has the scheme \(scheme)")
                }
            }
            // Where what is opened says more of the target, it is only known then.
            guard redirect.target.isFixed, redirect.target.scheme != nil,
                let url = try? RouteURL(redirect.target.text) as RouteURL,
                !opens(url, &steps)
            else { return nil }
            guard !steps.areOver else {
                return place.inactive("finding out where \(redirect.target.shown) leads takes too many steps")
            }
            return place.inactive(
                "no route matches \(redirect.target.shown)"
                    + NearestRoutes.note(on: routes.table.lookAlike(of: url)))
        }
    }

    private func inactiveGuards() -> [RelocationReport.Inactive] {
        let alive = guardsOfRoutes()
        return plan.guards.rules.enumerated().flatMap { number, alternatives in
            alternatives.compactMap { rule -> RelocationReport.Inactive? in
                if case .gate(let name) = rule.guarding?.effect, knowsGates, gate(named: name) == nil {
                    let near = NearestNames.find(name, among: gates.map(\.name))
                    let similar = near.isEmpty ? "" : "; similar are \(near.joined(separator: ", "))"
                    return rule.place.inactive("the program has no gate \(name.cut(to: 64))\(similar)")
                }
                if let scheme = rule.origin.scheme, !allows(scheme: scheme) {
                    return rule.place.inactive("no registered route has the scheme \(scheme)")
                }
                guard let alive, !alive.contains(number) else { return nil }
                return rule.place.inactive("no route matches \(rule.origin.shown)")
            }
        }
    }

    /// As many routes are held against what is guarded.
    private static let maximumRoutesOfGuards = 10_000

    /// The numbers of those guarded origins that are about a route; nil when that is not known, for there are too many.
    private func guardsOfRoutes() -> Set<Int>? {
        let table = plan.guards
        guard !table.rules.isEmpty else { return [] }
        guard routes.count <= Self.maximumRoutesOfGuards else { return nil }
        var steps = RelocationSteps(left: .max)
        var alive: Set<Int> = []
        for (number, alternatives) in table.rules.enumerated() {
            // What a converter of the program decides, or what is taken as a web page, is not known in advance.
            guard let url = alternatives.first?.origin.sample, !isWeb(url) else {
                alive.insert(number)
                continue
            }
            if routes.table.firstMatch(url) != nil { alive.insert(number) }
        }
        for record in routes.records {
            guard let url = record.pattern.sample else { return nil }
            alive.formUnion(table.matches(url, &steps).map(\.number))
        }
        return alive
    }

    private func inactiveCalls() -> [RelocationReport.Inactive] {
        guard let services else { return [] }
        return plan.calls.all.compactMap { rule in
            services.fault(of: rule).map { rule.place.inactive($0) }
        }
    }

    /// Whether a URL has a destination in this build for someone, directly or over further redirects.
    package func opens(_ url: RouteURL, _ steps: inout RelocationSteps) -> Bool {
        opens(url, hops: configuration.maximumHops, nil, &steps)
    }

    /// Whether a URL has a destination in this build, directly or over further redirects.
    ///
    /// Fallbacks do not count: they take everything, so a redirect to nowhere would always be in force.
    ///
    /// - Parameters:
    ///   - requester: Who asks; nil when there is no caller yet, and then a redirect with a condition may lead anywhere.
    ///   - steps: What may still be looked at; when they are over it has none.
    func opens(
        _ url: RouteURL, hops: Int, _ requester: RelocationRequester?, _ steps: inout RelocationSteps
    ) -> Bool {
        plan.leads(url, hops: hops, requester, &steps) { url, steps in
            guard allows(scheme: url.scheme) else { return false }
            if let first = routes.table.firstMatch(url) {
                // A list costs more, and the first is one unless a fallback was given a priority.
                if routes.isDestination(first) || routes.hasDestination(url) { return true }
            }
            if isWeb(url), let web = webURL, opens(web, hops: 0, requester, &steps) { return true }
            return requester == nil && plan.isConditional(at: url, &steps) ? true : nil
        }
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
