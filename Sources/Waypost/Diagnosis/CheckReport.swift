/// The result of a check of routes and maps.
public struct CheckReport: Sendable, Hashable {
    /// One mistake.
    public struct Finding: Sendable, Hashable {
        /// Its kind.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// Listed, but no such route is registered.
            case declaredNotRegistered
            /// Registered, but not listed.
            case registeredNotDeclared
            /// Listed with another class than the registered one.
            case wrongClass
            /// Listed with another priority than the registered one.
            case wrongPriority
            /// A module could not be registered or set up.
            case failedModule
            /// Two routes have patterns that match exactly the same URLs.
            case conflict
            /// A pattern that is not valid.
            case badPattern
            /// A redirect to a URL that no route takes.
            case deadRedirect
            /// A route that nothing can ever open: another is always tried first.
            case unreachable
            /// A route that a redirect leads away from: what maps are for, so it is no mistake.
            case redirected
            /// Routes without a scheme that open only with some, because other routes name schemes; no mistake.
            case limitedSchemes
            /// An interceptor whose scope sees no route, or names one that is not there.
            case deadScope
            /// A route with a converter that this process does not have, so that its URLs are not known; no mistake.
            case unknownConverter
            /// A map names a destination that is not registered.
            case unknownClass
            /// A map deletes a route that does not exist.
            case deadDeletion
            /// A map entry whose condition can't be used, or never holds, or holds only where another goes first.
            case neverApplies
            /// Two map entries of one origin whose conditions can hold together, so that the first goes first.
            case overlap
            /// Redirects lead in a circle, or there are too many in a row.
            case cycle
            /// A map entry is refused for another reason.
            case refused
            /// What is a placeholder in patterns of other routers, and plain text here; no mistake.
            case foreignSyntax
            /// Two patterns that look alike and take different URLs, for their letters are composed in one and not in the
            /// other (Unicode normalization); no mistake.
            case lookAlike
            /// A route that is listed twice, alike; no mistake.
            case duplicate
            /// A field of a list of routes that is not read; no mistake.
            case unreadField
            /// A command of a backend does not fit the routes or services.
            case badCommand
            /// A command that fits but is probably a mistake, or of which it is not known whether it fits.
            case doubtfulCommand

            /// Whether something should be done about it; the others are only good to know.
            public var isMistake: Bool {
                switch self {
                case .redirected, .limitedSchemes, .unknownConverter, .doubtfulCommand, .foreignSyntax,
                    .lookAlike, .duplicate, .unreadField:
                    false
                default: true
                }
            }
        }

        /// Its kind.
        public var kind: Kind
        /// The pattern, URL or class it is about.
        public var subject: String
        /// One sentence.
        public var detail: String

        /// A finding by its parts.
        package init(kind: Kind, subject: String, detail: String) {
            self.kind = kind
            self.subject = subject
            self.detail = detail
        }
    }

    /// What was found, by kind and subject.
    public var findings: [Finding]

    /// Whether there is no mistake; what is only good to know does not count.
    public var isClean: Bool { !findings.contains(where: \.kind.isMistake) }

    /// The findings of one kind.
    public func findings(_ kind: Finding.Kind) -> [Finding] { findings.filter { $0.kind == kind } }

    /// `[{"kind","subject","detail","mistake"}]`.
    package var json: JSONValue {
        .array(
            findings.map {
                [
                    "kind": .string($0.kind.rawValue), "subject": .string($0.subject),
                    "detail": .string($0.detail), "mistake": .bool($0.kind.isMistake),
                ]
            })
    }

    /// One line a finding.
    public var text: String {
        findings.isEmpty ? "nothing wrong\n" : findings.map { "\($0.kind.rawValue): \($0.detail)\n" }.joined()
    }
}

extension Router {
    /// Compares the registered routes with a list, and looks for routes, entries and scopes that can never work.
    ///
    /// - Parameter declared: The routes that should be registered, for instance read from a file; nil compares
    ///   nothing. Paths, classes and priorities are compared; an empty class agrees with any.
    public func check(declared: [RouteDescription]? = nil) -> CheckReport {
        // These are in no list that is compared.
        let refused = linkedFailures.map { failure in
            CheckReport.Finding(
                kind: .declaredNotRegistered, subject: failure.subject, detail: failure.detail)
        }
        let failed = moduleFailures.map { failure in
            CheckReport.Finding(kind: .failedModule, subject: failure.module, detail: "\(failure)")
        }
        var check = RouteCheck(state, refused + failed + PatternCheck(state).findings)
        check.findUnreachable()
        check.findLimitedSchemes()
        check.findDeadEntries()
        check.report(ScopeCheck(state).findings)
        if let declared { check.compare(declared) }
        return check.report
    }

    /// Checks a list of routes and a map without a router: for CI.
    ///
    /// - Parameters:
    ///   - routes: The routes, for instance imported from an export.
    ///   - layers: The relocation layers to lay over them.
    ///   - configuration: The settings of the router that they are meant for.
    public static func check(
        routes: [RouteDescription], layers: [RelocationLayer] = [],
        configuration: RouterConfiguration = .init()
    ) -> CheckReport {
        check(routes: routes, layers: layers, configuration: configuration) { _ in nil }
    }

    /// The same for a list with places, such as the lines of a file, that findings name.
    package static func check(
        routes: [RouteDescription], layers: [RelocationLayer], configuration: RouterConfiguration,
        place: @escaping (Int) -> String?
    ) -> CheckReport {
        var state = RouterState(configuration)
        var listed = ListedRoutes(routes, place: place)
        var findings: [CheckReport.Finding] = []
        for (index, description) in routes.enumerated() {
            guard description.missingConverter(configuration) == nil else {
                findings.append(
                    .init(
                        kind: .unknownConverter, subject: description.path,
                        detail: "\(description.path) is not checked: a converter of it is not known here"))
                continue
            }
            let route = Route(description) { _ in .opened() }
            do throws(RegistrationError) {
                try state.add([route], replacing: false)
                listed.note(index, try state.base.pattern(description.path).text)
            } catch {
                if case .conflict(_, let rival) = error {
                    let rival = listed.name(rival, description.priority)
                    let detail = "\(listed.name(index)): already held by \(rival)"
                    findings.append(.init(kind: .conflict, subject: description.path, detail: detail))
                } else {
                    let hint = ForeignSyntax.hint(in: description.path, configuration.syntax)
                    let detail = "\(error)" + (hint.map { "; \($0)" } ?? "")
                    findings.append(.init(kind: .badPattern, subject: description.path, detail: detail))
                }
            }
        }
        findings += relocate(layers, &state) + PatternCheck(state, listed).findings
        var check = RouteCheck(state, findings, listed)
        check.findUnreachable()
        check.findLimitedSchemes()
        check.findDeadEntries()
        return check.report
    }

    /// Lays the layers over the routes; an entry that is refused is reported and left out.
    private static func relocate(
        _ layers: [RelocationLayer], _ state: inout RouterState
    ) -> [CheckReport.Finding] {
        var layers = layers
        var findings: [CheckReport.Finding] = []
        while true {
            do throws(RelocationError) {
                _ = state.install(try CompiledRelocation(layers, for: state))
                return findings
            } catch {
                let kind: CheckReport.Finding.Kind =
                    error.code == .cycle || error.code == .chain ? .cycle : .refused
                findings.append(.init(kind: kind, subject: error.field ?? "", detail: "\(error)"))
                guard let layer = layers.firstIndex(where: { $0.name == error.layer }),
                    let index = error.index,
                    layers[layer].entries.indices.contains(index), findings.count < 100
                else { return findings }
                layers[layer].entries.remove(at: index)
            }
        }
    }
}

/// Finds what can never work.
private struct RouteCheck {
    private let state: RouterState
    private var findings: [CheckReport.Finding]
    private let listed: ListedRoutes

    init(
        _ state: RouterState, _ findings: [CheckReport.Finding] = [], _ listed: ListedRoutes = ListedRoutes()
    ) {
        self.state = state
        self.findings = findings
        self.listed = listed
    }

    var report: CheckReport {
        CheckReport(
            findings: findings.sorted { ($0.kind.rawValue, $0.subject) < ($1.kind.rawValue, $1.subject) })
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
                add(.declaredNotRegistered, wanted.path, "\(wanted.path) is declared but not registered")
                continue
            }
            let found = left.remove(at: best).route
            if !wanted.className.isEmpty, wanted.className != found.name ?? "" {
                let name = found.name.map { "registered for \($0)" } ?? "registered without a class"
                add(
                    .wrongClass, wanted.path,
                    "\(wanted.path) is declared for \(wanted.className), but \(name)")
            }
            if wanted.priority != found.priority {
                let detail =
                    "is declared with priority \(wanted.priority), but registered with \(found.priority)"
                add(.wrongPriority, wanted.path, "\(wanted.path) \(detail)")
            }
        }
        for record in left {
            let path = record.pattern.text
            add(.registeredNotDeclared, path, "\(path) is registered but not declared")
        }
    }

    /// Routes without a scheme take any while no route names one; afterwards only the schemes that are named.
    mutating func findLimitedSchemes() {
        let schemes = state.base.schemesBesideNone
        guard !schemes.isEmpty, state.configuration.allowedSchemes == nil else { return }
        let list = schemes.joined(separator: ", ")
        add(
            .limitedSchemes, list,
            "routes without a scheme open only with the schemes that other routes name (\(list)); "
                + "set allowedSchemes to open them with others")
    }

    mutating func report(_ found: [CheckReport.Finding]) { findings += found }

    private mutating func add(_ kind: CheckReport.Finding.Kind, _ subject: String, _ detail: String) {
        findings.append(.init(kind: kind, subject: subject, detail: detail))
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
            var decisions = [RelocationDecision]?.none
            var steps = RelocationSteps.ofOpen
            if isLiteral, let redirect = state.plan.hop(for: url, nil, &decisions, &steps),
                let target = try? RouteURL(redirect.url) as RouteURL,
                state.opens(target, hops: state.configuration.maximumHops, nil, &steps)
            {
                add(.redirected, path, "\(path) is not opened: a redirect leads to \(target.text)")
            } else if let first = state.routes.table.match(url).first, let rival = state.routes[first.index],
                rival !== record
            {
                add(
                    .unreachable, path,
                    "\(listed.name(record)) is never opened: \(listed.name(rival)) is tried first")
            }
        }
    }

    mutating func findDeadEntries() {
        var copy = state
        guard let compiled = try? CompiledRelocation(state.builtIn, for: state) else { return }
        findings += ConditionCheck(compiled.plan).findings
        let faults = Set(compiled.plan.faults.map(\.place))
        for inactive in copy.install(compiled).inactive {
            guard let layer = state.layers.first(where: { $0.name == inactive.layer }),
                layer.entries.indices.contains(inactive.index)
            else { continue }
            let entry = layer.entries[inactive.index]
            let detail = "layer \(inactive.layer), entry \(inactive.index): \(inactive.reason)"
            guard !faults.contains(.init(layer: inactive.layer, index: inactive.index)) else {
                findings.append(.init(kind: .neverApplies, subject: inactive.layer, detail: detail))
                continue
            }
            switch entry.kind {
            case .replace(let origin, _), .reset(let origin, _):
                findings.append(.init(kind: .deadRedirect, subject: origin, detail: detail))
            case .add(_, let className):
                findings.append(.init(kind: .unknownClass, subject: className, detail: detail))
            case .delete(let path): findings.append(.init(kind: .deadDeletion, subject: path, detail: detail))
            }
        }
    }
}
