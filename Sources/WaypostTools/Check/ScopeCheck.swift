import Waypost

/// Finds interceptors that were meant for routes that are not there.
///
/// A route that is read from a list has the metadata that the list gives it, and no others: an interceptor by metadata
/// whose key no list and no program gives sees nothing, whatever the routes are.
struct ScopeCheck {
    private(set) var findings: [CheckReport.Finding] = []

    private let state: RouterState
    /// The routes of this build, and those in force.
    private let routes: [StoredRoute]

    init(_ state: RouterState) {
        self.state = state
        routes = Array(state.base.records) + Array(state.routes.records)
        for interceptor in state.interceptors { check(interceptor) }
    }

    private mutating func check(_ interceptor: Interceptor) {
        switch interceptor.scope {
        case .all: return
        case .subtree:
            if let subtree = interceptor.subtree { check(subtree, of: interceptor) }
        case .patterns, .allBut:
            for pattern in interceptor.patterns
            where !routes.contains(where: { $0.pattern.takesTheSame(as: pattern) }) {
                add(
                    pattern.text,
                    "the scope \(pattern.text) of the interceptor \(interceptor.name) matches no route")
            }
            guard !routes.isEmpty, !seesAny(interceptor) else { return }
            if case .allBut = interceptor.scope, state.pathlessDestinations.isEmpty {
                add(
                    interceptor.name,
                    "the interceptor \(interceptor.name) is never called: its scope excludes all routes")
            } else if interceptor.patterns.isEmpty {
                add(
                    interceptor.name,
                    "the interceptor \(interceptor.name) is never called: its scope has no pattern")
            }
        case .metadata(let key, let value):
            let mayBeAdded = state.pathlessDestinations.contains { $0.hasMetadata(key, value) }
            guard !mayBeAdded, !seesAny(interceptor) else { return }
            let wanted = value.map { "\(key) = \($0.text)" } ?? key
            add(
                wanted,
                "the scope of the interceptor \(interceptor.name) matches no route: none has \(wanted)"
                    + others(of: key))
        case nil:
            guard !seesAny(interceptor) else { return }
            add(
                interceptor.name,
                "the interceptor \(interceptor.name) is never called: its group has no route")
        }
    }

    private func seesAny(_ interceptor: Interceptor) -> Bool { routes.contains(where: interceptor.sees) }

    private mutating func check(_ subtree: RouteURL, of interceptor: Interceptor) {
        let isParent = state.configuration.dialect.syntax.parentsTakeDeeper
        guard !state.isWeb(subtree), !routes.contains(where: { $0.mayTake(subtree, isParent) }) else {
            return
        }
        add(
            subtree.text,
            "the subtree \(subtree.text) of the interceptor \(interceptor.name) has no route")
    }

    /// What routes have under a key with another value, for instance `"true"` in the place of `true`.
    private func others(of key: String) -> String {
        let found = routes.compactMap { route in
            route.route.metadata[key].map { "\(route.pattern.text) has \(key) = \($0.text.cut(to: 64))" }
        }
        return found.first.map { "; \($0)" } ?? ""
    }

    private mutating func add(_ subject: String, _ detail: String) {
        findings.append(.init(kind: .deadScope, subject: subject, detail: detail))
    }
}

extension StoredRoute {
    /// Whether the route may take URLs in this subtree.
    fileprivate func mayTake(_ subtree: RouteURL, _ isParent: Bool) -> Bool {
        guard pattern.scheme == nil || subtree.scheme.isEmpty || pattern.scheme == subtree.scheme else {
            return false
        }
        return pattern.rows.contains { row in mayTake(subtree, row.segments, isParent) }
    }

    private func mayTake(
        _ subtree: RouteURL, _ segments: [RoutePattern.Segment], _ isParent: Bool
    ) -> Bool {
        for (segment, component) in zip(segments, subtree.components) {
            switch segment {
            case .literal(let text)
            where !RouteScheme.equals(text, component, ignoringCase: pattern.ignoresCase):
                return false
            case .rest: return true
            default: continue
            }
        }
        return segments.count >= subtree.components.count || isParent || route.takesDeeper
            || pattern.isFallback
    }
}
