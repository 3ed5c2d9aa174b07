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
            /// A module could not be registered or set up.
            case failedModule
            /// Two routes have patterns that match exactly the same URLs.
            case conflict
            /// A pattern that is not valid.
            case badPattern
            /// A redirect to a URL that no route takes.
            case deadRedirect
            /// A route that is never opened: another is always tried first, or a redirect leads away.
            case unreachable
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

    /// Whether nothing was found.
    public var isClean: Bool { findings.isEmpty }

    /// The findings of one kind.
    public func findings(_ kind: Finding.Kind) -> [Finding] { findings.filter { $0.kind == kind } }

    /// `[{"kind","subject","detail"}]`.
    package var json: JSONValue {
        .array(
            findings.map {
                [
                    "kind": .string($0.kind.rawValue), "subject": .string($0.subject),
                    "detail": .string($0.detail),
                ]
            })
    }

    /// One line a finding.
    public var text: String {
        isClean ? "nothing wrong\n" : findings.map { "\($0.kind.rawValue): \($0.detail)\n" }.joined()
    }
}

extension Router {
    /// Compares the registered routes with a list, and looks for routes and entries that can never work.
    ///
    /// - Parameter declared: The routes that should be registered, for instance read from a file; nil compares
    ///   nothing.
    public func check(declared: [RouteDescription]? = nil) -> CheckReport {
        // These are in no list that is compared.
        let refused = linkedFailures.map { failure in
            CheckReport.Finding(
                kind: .declaredNotRegistered, subject: failure.subject, detail: failure.detail)
        }
        let failed = moduleFailures.map { failure in
            CheckReport.Finding(kind: .failedModule, subject: failure.module, detail: "\(failure)")
        }
        var check = RouteCheck(state, refused + failed)
        check.findUnreachable()
        check.findDeadEntries()
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
        var state = RouterState(configuration)
        var findings: [CheckReport.Finding] = []
        for description in routes {
            let route = Route(
                description.path, name: description.className.isEmpty ? nil : description.className,
                priority: description.priority, kind: description.kind
            ) { _ in .opened() }
            do throws(RegistrationError) {
                try state.add([route], replacing: false)
            } catch {
                let kind: CheckReport.Finding.Kind =
                    if case .conflict = error { .conflict } else { .badPattern }
                findings.append(.init(kind: kind, subject: description.path, detail: "\(error)"))
            }
        }
        findings += relocate(layers, &state)
        var check = RouteCheck(state, findings)
        check.findUnreachable()
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

    init(_ state: RouterState, _ findings: [CheckReport.Finding] = []) {
        self.state = state
        self.findings = findings
    }

    var report: CheckReport {
        CheckReport(
            findings: findings.sorted { ($0.kind.rawValue, $0.subject) < ($1.kind.rawValue, $1.subject) })
    }

    mutating func compare(_ declared: [RouteDescription]) {
        let wanted = Set(declared.map(\.path))
        let present = Set(state.base.records.map(\.pattern.text))
        for path in wanted.subtracting(present) {
            findings.append(
                .init(
                    kind: .declaredNotRegistered, subject: path,
                    detail: "\(path) is declared but not registered"))
        }
        for path in present.subtracting(wanted) {
            findings.append(
                .init(
                    kind: .registeredNotDeclared, subject: path,
                    detail: "\(path) is registered but not declared"))
        }
    }

    /// Matches a sample URL of each route: when another route takes it, this one is never opened.
    mutating func findUnreachable() {
        for record in state.routes.records where !record.pattern.isFallback {
            guard let url = record.pattern.sample else { continue }
            let path = record.pattern.text
            let isLiteral = record.pattern.placeholderNames.isEmpty
            var decisions = [RelocationDecision]?.none
            if isLiteral, let redirect = state.plan.hop(for: url, nil, &decisions),
                let target = try? RouteURL(redirect.url) as RouteURL,
                state.opens(target, hops: state.configuration.maximumHops)
            {
                findings.append(
                    .init(
                        kind: .unreachable, subject: path,
                        detail: "\(path) is never opened: a redirect leads to \(target.text)"))
            } else if let first = state.routes.table.match(url).first, let rival = state.routes[first.index],
                rival !== record
            {
                let detail = "\(path) is never opened: \(rival.pattern.text) is tried first"
                findings.append(.init(kind: .unreachable, subject: path, detail: detail))
            }
        }
    }

    mutating func findDeadEntries() {
        var copy = state
        guard let compiled = try? CompiledRelocation(state.layers, for: state) else { return }
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
