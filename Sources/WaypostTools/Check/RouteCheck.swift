import Waypost

/// Finds routes that can never work, and puts what was found in order.
struct RouteCheck {
    private let state: RouterState
    private var findings: [CheckReport.Finding]
    private let listed: ListedRoutes
    /// Whether what breaks no caller is only good to know.
    var allowsMore = false

    init(
        _ state: RouterState, _ findings: [CheckReport.Finding] = [], _ listed: ListedRoutes = ListedRoutes()
    ) {
        self.state = state
        self.findings = findings
        self.listed = listed
    }

    /// What was found in the order of the list and of the maps, what is in none first.
    func report(_ maps: [String]) -> CheckReport {
        let order = Dictionary(maps.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        func rank(_ finding: CheckReport.Finding) -> (Int, Int) {
            switch finding.place {
            case nil: (-2, 0)
            case .route(let index): (-1, index)
            case .map(let layer, _): (order[layer] ?? maps.count, -1)
            case .entry(let layer, let index, _): (order[layer] ?? maps.count, index)
            }
        }
        return CheckReport(
            findings: findings.map { ($0, rank($0)) }.sorted { one, other in
                one.1 == other.1
                    ? (one.0.kind.rawValue, one.0.subject) < (other.0.kind.rawValue, other.0.subject)
                    : one.1 < other.1
            }.map(\.0))
    }

    mutating func compare(_ declared: [RouteDescription]) {
        var left = Array(state.base.records)
        for wanted in declared {
            let pattern = try? state.base.pattern(wanted.path)
            let same = left.indices.filter { index in
                pattern.map { $0.takesTheSame(as: left[index].pattern) } ?? false
            }
            func fits(_ index: Int, _ priority: Bool) -> Bool {
                let route = left[index].route
                return priority
                    ? route.priority == wanted.priority
                    : wanted.className.isEmpty || route.name ?? "" == wanted.className
            }
            // One pattern may have several routes, with different priorities.
            let best =
                same.first { fits($0, true) && fits($0, false) } ?? same.first { fits($0, false) }
                ?? same.first { fits($0, true) } ?? same.first
            guard let best else {
                differ(.declaredNotRegistered, wanted.path, "\(wanted.path) is declared but not registered")
                continue
            }
            let record = left.remove(at: best)
            let found = record.route
            differ(wanted.path, ListComparison.differences(wanted, record.description))
            if !wanted.className.isEmpty, wanted.className != found.name ?? "" {
                let name = found.name.map { "registered for \($0)" } ?? "registered without a class"
                differ(
                    .wrongClass, wanted.path,
                    "\(wanted.path) is declared for \(wanted.className), but \(name)")
            }
            if wanted.priority != found.priority {
                let detail =
                    "is declared with priority \(wanted.priority), but registered with \(found.priority)"
                differ(.wrongPriority, wanted.path, "\(wanted.path) \(detail)")
            }
        }
        for record in left {
            let path = record.pattern.text
            differ(
                .registeredNotDeclared, path, "\(path) is registered but not declared", breaks: false)
        }
    }

    /// Holds the services against a list: each that it has must be there as it says.
    mutating func compare(_ declared: [ServiceDescription], with services: [ServiceDescription]) {
        let known = Dictionary(services.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for service in declared {
            guard let found = known[service.name] else {
                differ(.declaredNotRegistered, service.name, "\(service.name) is declared but not exposed")
                continue
            }
            for method in service.methods {
                let name = "\(service.name).\(method.name)"
                guard let other = found.methods.first(where: { $0.name == method.name }) else {
                    differ(.declaredNotRegistered, name, "\(name) is declared but not exposed")
                    continue
                }
                differ(name, ListComparison.differences(method, other))
            }
            let listed = Set(service.methods.map(\.name))
            for method in found.methods where !listed.contains(method.name) {
                let name = "\(service.name).\(method.name)"
                differ(
                    .registeredNotDeclared, name, "\(name) is exposed but not declared", breaks: false)
            }
        }
        let listed = Set(declared.map(\.name))
        for service in services where !listed.contains(service.name) {
            differ(
                .registeredNotDeclared, service.name, "\(service.name) is exposed but not declared",
                breaks: false)
        }
    }

    /// Holds the settings and gates against those of a contract.
    mutating func compareRest(_ wanted: RouterContract, with found: RouterContract) {
        for name in Set(wanted.gates).symmetricDifference(found.gates).sorted() {
            let isGone = wanted.gates.contains(name)
            differ(
                isGone ? .declaredNotRegistered : .registeredNotDeclared, "gate \(name)",
                "the gate \(name) is \(isGone ? "declared but not registered" : "registered but not declared")",
                breaks: isGone)
        }
        let schemes = found.settings.allowedSchemes
        // Of these it is known that whoever goes by the contract finds the same as before.
        let isWider: [String: Bool] = [
            "allowedSchemes": schemes.map { wanted.settings.allowedSchemes?.isSubset(of: $0) ?? false }
                ?? true,
            "ignoresCase": found.settings.ignoresCase, "webPath": wanted.settings.webPath == nil,
        ]
        let (wanted, found) = (
            wanted.settings.json.objectValue ?? [:], found.settings.json.objectValue ?? [:]
        )
        for key in Set(wanted.keys).union(found.keys).sorted() where wanted[key] != found[key] {
            func text(_ value: JSONValue?) -> String { value?.text.cut(to: 100) ?? "none" }
            differ(
                .changed, "router.\(key)",
                "the setting \(key) is listed as \(text(wanted[key])), and is now \(text(found[key]))",
                breaks: !(isWider[key] ?? false))
        }
    }

    private mutating func differ(_ subject: String, _ differences: [ListComparison.Difference]) {
        for difference in differences {
            differ(
                difference.isMore ? .extended : .changed, subject, "\(subject) \(difference.text)",
                breaks: difference.breaks)
        }
    }

    /// Notes what is not as a list says.
    private mutating func differ(
        _ kind: CheckReport.Finding.Kind, _ subject: String, _ detail: String, breaks: Bool = true
    ) {
        var finding = CheckReport.Finding(
            kind: allowsMore && !breaks ? .extended : kind, subject: subject, detail: detail)
        finding.breaksCallers = breaks
        findings.append(finding)
    }

    /// Routes without a scheme take any while no route names one; afterwards only the schemes that are named.
    mutating func findLimitedSchemes() {
        let schemes = state.base.schemesBesideNone
        guard !schemes.isEmpty, state.configuration.allowedSchemes == nil,
            !state.configuration.dialect.keysTakeAnyScheme
        else { return }
        let list = schemes.joined(separator: ", ")
        add(
            .limitedSchemes, list,
            "routes without a scheme open only with the schemes that other routes name (\(list)); "
                + "set allowedSchemes to open them with others")
    }

    /// A web path whose route is missing: web URLs are allowed then, and none that no other route takes is found.
    mutating func findDeadWebPath() {
        guard let path = state.configuration.webPath?.rawValue else { return }
        let url = state.webURL
        guard url.flatMap({ state.routes.table.firstMatch($0) }) == nil else { return }
        let note = NearestRoutes.note(on: url.flatMap { state.routes.table.lookAlike(of: $0) })
        let shown = RouteURL.withoutValues(path)
        add(
            .deadWebPath, shown,
            "webPath is \(shown), which no route matches, so http and https URLs lead nowhere unless a route "
                + "names them\(note)")
    }

    /// Placeholders that no property of the route's type reads, where the type needs properties that are not in the path.
    mutating func findUnreadPlaceholders() {
        for record in state.routes.records {
            guard let unread = record.unread else { continue }
            add(
                .unreadPlaceholder, record.pattern.text,
                "\(listed.name(record)): \(unread.type) needs \(unread.needed.joined(separator: ", ")) beside the "
                    + "path, and has no property \(unread.placeholders.joined(separator: ", ")) for its placeholder",
                record)
        }
    }

    mutating func add(_ found: [CheckReport.Finding]) { findings += found }

    private mutating func add(
        _ kind: CheckReport.Finding.Kind, _ subject: String, _ detail: String,
        _ records: StoredRoute...
    ) {
        var places: [CheckReport.Finding.Place] = records.compactMap(listed.index).map { .route($0) }
        let place = places.isEmpty ? nil : places.removeFirst()
        findings.append(.init(kind: kind, subject: subject, detail: detail, place: place, others: places))
    }

    /// Matches a sample URL of each route: when another route takes it, this one is never opened.
    mutating func findUnreachable() {
        for record in state.routes.records where !record.pattern.isFallback {
            // Of a route with optional parts that is enough which opens.
            let samples = record.pattern.rows.map(\.sample)
            let url =
                samples.first { url in
                    guard let url, let first = state.routes.table.match(url).first else { return true }
                    return state.routes[first.index] === record
                } ?? samples[0]
            guard let url else { continue }
            let path = record.pattern.text
            let isLiteral = record.pattern.placeholderNames.isEmpty
            var steps = RelocationSteps.ofOpen
            if isLiteral, let text = state.plan.target(of: url, &steps),
                let target = try? RouteURL(text) as RouteURL, !leads(target, to: record),
                state.opens(target, &steps)
            {
                add(.redirected, path, "\(path) is not opened: a redirect leads to \(target.text)", record)
            } else if let first = state.routes.table.match(url).first, let rival = state.routes[first.index],
                rival !== record
            {
                add(
                    .unreachable, path,
                    "\(listed.name(record)) is never opened: \(listed.name(rival)) is tried first", record,
                    rival)
            }
        }
    }

    /// Whether a URL opens this route, as the target of a redirect does that only adds to the query.
    private func leads(_ url: RouteURL, to record: StoredRoute) -> Bool {
        state.routes.table.firstMatch(url).flatMap { state.routes[$0.index] } === record
    }
}
