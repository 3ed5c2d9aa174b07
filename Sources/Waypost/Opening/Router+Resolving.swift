/// Where a URL would lead, found without running anything.
public struct Resolution: Sendable {
    /// The pattern whose destination would take the URL; nil when none would, or for a service URL.
    public var route: String?
    /// The destination's name.
    public var className: String?
    /// The URL after all redirects.
    public var url: String
    /// The URLs that redirects led to, in order.
    public var hops: [String]
    /// The parameters that the destination would see.
    public var parameters: RouteParameters
    /// Whether this is the route of a `route_fallback_url`.
    public var fellBack: Bool
    /// The exposed method that a service URL would call.
    public var method: MethodDescription?
    /// Why nothing would be opened; nil when something would.
    public var error: Rejection?
    /// Whether an open that a crash interrupted may run again.
    public var idempotent: Bool

    /// How the destination would be shown.
    public var presentation: Presentation { Presentation(parameters) }
}

extension Router {
    /// Finds where a URL would lead; pure: no handler, no interceptor, no log.
    ///
    /// Destinations' conditional redirects are asked, which must have no effect.
    public func resolve(_ url: String, parameters: [String: JSONValue] = [:]) -> Resolution {
        resolve(url, parameters, namesNearest: true)
    }

    /// Looking for near names costs a hundred matches, so it is only done for those who read them.
    private func resolve(
        _ url: String, _ parameters: [String: JSONValue], namesNearest: Bool
    ) -> Resolution {
        let snapshot = snapshot
        var resolution = Resolution(
            url: url, hops: [],
            parameters: RouteParameters(caller: parameters, rule: configuration.dialect.merge),
            fellBack: false,
            idempotent: false)
        switch snapshot.state.read(url) {
        case .failure(let rejection): resolution.error = rejection
        case .success(let read) where ServiceURL.matches(read, configuration):
            resolution.url = read.text
            resolve(service: read, parameters, &resolution)
        case .success(let read):
            var journey = Journey(read, requested: url, caller: parameters, objects: [:], context: .init())
            resolve(&journey, snapshot, namesNearest, &resolution)
            guard resolution.error?.code == .noRoute, let fallback = Self.fallback(of: journey) else {
                break
            }
            journey.caller[Self.fallbackKey] = nil
            var second = resolution
            second.error = journey.hop(to: fallback, snapshot.state)
            if second.error == nil { resolve(&journey, snapshot, namesNearest, &second) }
            if second.error == nil {
                second.fellBack = true
                resolution = second
            }
        }
        return resolution
    }

    /// Whether a route or an exposed method takes the URL itself; pure, and exact.
    ///
    /// A `route_fallback_url` does not count, a registered fallback pattern does.
    public func canOpen(_ url: String) -> Bool {
        let resolution = resolve(url, [:], namesNearest: false)
        return resolution.error == nil && !resolution.fellBack
    }

    /// Whether opening this may run again after a crash: what would run was declared idempotent.
    package func isIdempotent(_ url: String, parameters: [String: JSONValue] = [:]) -> Bool {
        let resolution = resolve(url, parameters, namesNearest: false)
        return resolution.error == nil && resolution.idempotent
    }

    private func resolve(
        service url: RouteURL, _ parameters: [String: JSONValue], _ resolution: inout Resolution
    ) {
        do throws(Rejection) {
            let call = try ServiceURL(url, caller: parameters)
            switch services.find(call.service, call.method) {
            case .success(let found):
                resolution.method = found.method.description
                resolution.idempotent = found.method.description.idempotent
                if let failure = found.module?.failure { throw Rejection(.module, "\(failure)") }
            case .failure(let failure):
                throw Rejection(failure.code, failure.detail, nearest: failure.nearest)
            }
        } catch {
            resolution.error = error
        }
    }

    private func resolve(
        _ journey: inout Journey, _ snapshot: RouterSnapshot, _ namesNearest: Bool,
        _ resolution: inout Resolution
    ) {
        resolution.error = nil
        travelling: while true {
            resolution.error = journey.relocate(snapshot.state) { _, _ in }
            resolution.url = journey.url.text
            resolution.hops = journey.hops
            guard resolution.error == nil else { return }
            guard let found = snapshot.find(journey.url).first(where: { _ in true }) else {
                var query: [String: JSONValue] = [:]
                for pair in journey.url.query.pairs { query[pair.key] = .string(pair.value) }
                resolution.parameters.query = query
                resolution.error = Rejection(
                    .noRoute, "no route takes \(journey.url.text)",
                    nearest: namesNearest ? snapshot.state.routes.table.nearest(to: journey.url) : [])
                return
            }
            let request = journey.request(for: found, snapshot.state)
            if let failure = found.record.route.module?.failure {
                resolution.route = request.route
                resolution.error = Rejection(.module, "\(failure)")
                return
            }
            if let target = found.record.route.redirect?(request) {
                resolution.error = journey.hop(to: target, snapshot.state)
                if resolution.error == nil { continue travelling }
                return
            }
            resolution.route = request.route
            resolution.className = found.record.route.name
            resolution.parameters = request.parameters
            resolution.idempotent = found.record.route.idempotent
            return
        }
    }
}
