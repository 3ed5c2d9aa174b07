/// A route that takes a URL.
struct MatchedRoute: Sendable {
    let record: StoredRoute
    /// What its placeholders took; nil where there are some and that was not looked at.
    let captured: [String: JSONValue]?
    /// The web URL that the web route must show.
    var webURL: String?
    /// Whether it takes the URL only because no other route does.
    var takesWhatIsLeft: Bool { record.pattern.isFallback || webURL != nil }

    // Borrowed, for an initializer is otherwise given copies.
    init(
        _ match: RouteMatch, _ url: borrowing RouteURL, in snapshot: borrowing RouterSnapshot,
        record: StoredRoute, capturing: Bool
    ) {
        self.record = record
        guard capturing, match.parameterCount > 0 else {
            captured = match.parameterCount > 0 ? nil : [:]
            return
        }
        var captured: [String: JSONValue] = .init(minimumCapacity: match.parameterCount)
        snapshot.state.routes.table.forEachParameter(of: match, in: url) { name, text, _, value in
            captured[name] = value.map { JSONValue($0) } ?? .string(text)
        }
        self.captured = captured
    }
}

/// The routes that take a URL, looked for one by one, best first; the web route for a web URL that no other takes.
struct MatchedRoutes: Sendable {
    private var matches = RouteMatches()
    // Few opens have these.
    private var web: Boxed<MatchedRoute>?
    private var held: Boxed<MatchedRoute>?

    init(_ url: borrowing RouteURL, in snapshot: borrowing RouterSnapshot) {
        web = snapshot.state.isWeb(url) ? Self.web(url, snapshot).map(Boxed.init) : nil
    }

    /// The next route that takes the URL; the same URL and snapshot each time.
    ///
    /// - Parameter capturing: Whether it is needed what placeholders take; a route that may redirect always has it.
    mutating func next(
        _ url: RouteURL, in snapshot: RouterSnapshot, capturing: Bool = true
    ) -> MatchedRoute? {
        if let held {
            self.held = nil
            return held.value
        }
        guard let match = matches.next(url, in: snapshot.state.routes.table),
            let record = snapshot.state.routes[match.index]
        else {
            return web.take()?.value
        }
        let matched = MatchedRoute(
            match, url, in: snapshot, record: record, capturing: capturing || record.route.redirect != nil)
        // The fallback of all takes what the web route would take, so the web route goes before it.
        guard record.pattern.isFallback, record.pattern.scheme == nil, let web = web.take() else {
            return matched
        }
        held = Boxed(matched)
        return web.value
    }

    private static func web(_ url: RouteURL, _ snapshot: RouterSnapshot) -> MatchedRoute? {
        guard let address = snapshot.state.webURL,
            let match = snapshot.state.routes.table.firstMatch(address),
            let record = snapshot.state.routes[match.index]
        else { return nil }
        var matched = MatchedRoute(match, address, in: snapshot, record: record, capturing: true)
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
