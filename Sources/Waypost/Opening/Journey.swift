/// A URL on its way to a destination: where it is now, and what it met.
struct Journey: Sendable {
    let requested: String
    private(set) var url: RouteURL
    private(set) var hops: [String] = []
    private(set) var relocation: [String: JSONValue] = [:]
    var caller: [String: JSONValue]
    let objects: [String: any Sendable]
    var context: OpenContext

    init(
        _ url: RouteURL, requested: String, caller: [String: JSONValue], objects: [String: any Sendable],
        context: OpenContext
    ) {
        self.url = url
        self.requested = requested
        self.caller = caller
        self.objects = objects
        self.context = context
    }

    /// Goes on to another URL; nil when it may, otherwise why not.
    mutating func hop(to text: String, _ state: RouterState) -> Rejection? {
        let maximum = state.configuration.maximumHops
        guard hops.count < maximum else {
            let way = ([requested] + hops + [text]).map { String($0.prefix(200)) }
            let isCircle = way.dropLast().contains(text)
            let detail = way.joined(separator: " → ")
            return isCircle
                ? .cycle("redirects lead in a circle: \(detail)")
                : .chain("redirects go on over more than \(maximum) hops: \(detail)")
        }
        switch state.read(text) {
        case .failure(let rejection): return rejection
        case .success(let url):
            // A redirect must not turn an open into a call: whoever may send a map may not call services by it.
            guard !ServiceURL.matches(url, state.configuration) else {
                return .notAllowed("\(url.text) is a service URL, which no redirect may lead to")
            }
            self.url = url
            hops.append(url.text)
            return nil
        }
    }

    /// Follows the relocation of the URL, hop by hop, as long as there is one that leads somewhere.
    mutating func relocate(_ state: RouterState, _ told: (_ from: String, _ to: String) -> Void) -> Rejection?
    {
        guard !state.plan.tree.isEmpty else { return nil }
        while true {
            let components = url.components
            guard let redirect = state.plan.redirect(for: url, components: components) else { return nil }
            let next = redirect.apply(to: url, components: components)
            // A redirect whose target this build does not have is not there: the origin opens as before.
            guard state.allows(scheme: redirect.target.scheme) else { return nil }
            if case .success(let target) = state.read(next),
                !state.opens(target, hops: state.configuration.maximumHops)
            {
                return nil
            }
            let from = url.text
            if let rejection = hop(to: next, state) { return rejection }
            relocation.merge(redirect.params) { _, later in later }
            told(from, url.text)
        }
    }

    /// The request that a destination sees.
    func request(for found: Found, _ state: RouterState) -> RouteRequest {
        var query: [String: JSONValue] = [:]
        var path = found.captured
        var relocation = relocation
        if let web = found.webURL {
            relocation["url"] = .string(web)
            path["jumpType"] = "1"
        } else {
            for pair in url.query.pairs { query[pair.key] = .string(pair.value) }
        }
        relocation.merge(found.record.params) { earlier, _ in earlier }
        return RouteRequest(
            url: url, requested: requested, route: found.record.pattern.text,
            parameters: RouteParameters(
                path: path, query: query, caller: caller, relocation: relocation, objects: objects,
                rule: state.configuration.dialect.merge), hops: hops, context: context)
    }
}

/// A route that takes a URL.
struct Found: Sendable {
    let record: RouteRecord
    let captured: [String: JSONValue]
    /// The web URL that the web route is to show.
    var webURL: String?

    init(_ candidate: RouteCandidate, record: RouteRecord) {
        self.record = record
        var captured: [String: JSONValue] = [:]
        for parameter in candidate.parameters { captured[parameter.name] = JSONValue(parameter.value) }
        self.captured = captured
    }
}

extension JSONValue {
    /// What a placeholder captured.
    init(_ value: CapturedValue) {
        switch value {
        case .text(let text): self = .string(text)
        case .int(let number): self = .int(number)
        case .double(let number): self = .double(number)
        case .bool(let flag): self = .bool(flag)
        }
    }
}

extension RouterState {
    /// Reads a URL and checks it against the limits and allow-lists.
    func read(_ text: String) -> Result<RouteURL, Rejection> {
        guard text.utf8.count <= configuration.maximumURLBytes else {
            return .failure(
                .tooLarge(
                    "the URL has \(text.utf8.count) bytes, \(configuration.maximumURLBytes) are allowed"))
        }
        let url: RouteURL
        do throws(RouteURLError) {
            url = try RouteURL(text)
        } catch {
            return .failure(.badField("url: \(error)"))
        }
        let scheme = url.scheme
        guard allows(scheme: scheme) else {
            return .failure(.notAllowed("the scheme \(scheme) may not be opened"))
        }
        guard allows(host: url.host, scheme: scheme) else {
            return .failure(.notAllowed("the host \(url.host.prefix(200)) may not be opened"))
        }
        return .success(url)
    }
}

extension RouterSnapshot {
    /// The routes that take the URL, best first; the web route for a web URL that no other takes.
    func find(_ url: RouteURL) -> FoundSequence {
        FoundSequence(self, url)
    }
}

/// The routes that take a URL, looked for one by one.
struct FoundSequence: Sequence, IteratorProtocol {
    private let snapshot: RouterSnapshot
    private var candidates: RouteCandidates.Iterator
    private var web: Found?
    private var held: Found?

    init(_ snapshot: RouterSnapshot, _ url: RouteURL) {
        self.snapshot = snapshot
        candidates = snapshot.state.routes.table.match(url).makeIterator()
        if snapshot.state.isWeb(url) { web = Self.web(url, snapshot.state) }
    }

    mutating func next() -> Found? {
        if let held {
            self.held = nil
            return held
        }
        guard let candidate = candidates.next(), let record = snapshot.state.routes[candidate.index] else {
            return web.take()
        }
        let found = Found(candidate, record: record)
        // The fallback of all takes what the web route would take, so the web route goes before it.
        guard record.pattern.isFallback, record.pattern.scheme == nil, let web = web.take() else {
            return found
        }
        held = found
        return web
    }

    private static func web(_ url: RouteURL, _ state: RouterState) -> Found? {
        guard let address = state.webURL, let candidate = state.routes.table.match(address).first,
            let record = state.routes[candidate.index]
        else { return nil }
        var found = Found(candidate, record: record)
        found.webURL = url.text
        return found
    }
}
