/// A route that takes a URL.
struct MatchedRoute: Sendable {
    let record: StoredRoute
    let captured: [String: JSONValue]
    /// The web URL that the web route is to show.
    var webURL: String?

    init(_ candidate: RouteCandidate, record: StoredRoute) {
        self.record = record
        var captured: [String: JSONValue] = [:]
        for parameter in candidate.parameters { captured[parameter.name] = JSONValue(parameter.value) }
        self.captured = captured
    }
}

/// The routes that take a URL, looked for one by one, best first; the web route for a web URL that no other takes.
struct MatchedRoutes: Sendable {
    private let snapshot: RouterSnapshot
    private var candidates: RouteCandidates.Iterator
    private var web: MatchedRoute?
    private var held: MatchedRoute?

    init(_ snapshot: RouterSnapshot, _ url: RouteURL) {
        self.snapshot = snapshot
        candidates = snapshot.state.routes.table.match(url).makeIterator()
        if snapshot.state.isWeb(url) { web = Self.web(url, snapshot.state) }
    }

    mutating func next() -> MatchedRoute? {
        if let held {
            self.held = nil
            return held
        }
        guard let candidate = candidates.next(), let record = snapshot.state.routes[candidate.index] else {
            return web.take()
        }
        let matched = MatchedRoute(candidate, record: record)
        // The fallback of all takes what the web route would take, so the web route goes before it.
        guard record.pattern.isFallback, record.pattern.scheme == nil, let web = web.take() else {
            return matched
        }
        held = matched
        return web
    }

    private static func web(_ url: RouteURL, _ state: RouterState) -> MatchedRoute? {
        guard let address = state.webURL, let candidate = state.routes.table.match(address).first,
            let record = state.routes[candidate.index]
        else { return nil }
        var matched = MatchedRoute(candidate, record: record)
        matched.webURL = url.text
        return matched
    }
}

extension JSONValue {
    /// The value of a placeholder.
    init(_ value: CapturedValue) {
        switch value {
        case .text(let text): self = .string(text)
        case .int(let number): self = .int(number)
        case .double(let number): self = .double(number)
        case .bool(let flag): self = .bool(flag)
        }
    }
}
