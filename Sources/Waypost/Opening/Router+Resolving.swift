/// Where a URL would lead, found without running anything.
public struct Resolution: Sendable {
    /// One redirect before the destination.
    package struct Redirect: Sendable, Hashable {
        /// The URL that was redirected.
        package var from: String
        /// The URL that it led to.
        package var to: String
        /// The relocation layer whose entry redirects; nil for a route's own redirect, and for a fallback.
        package var layer: String?
        /// The entry's number in its layer, from 1.
        package var entry: Int?
        /// The pattern of the route that redirects by itself; nil for a relocation entry, and for a fallback.
        package var route: String?
    }

    /// The pattern whose destination would take the URL; nil when none would, or for a service URL.
    public var route: String?
    /// The destination's name.
    public var className: String?
    /// The URL after all redirects.
    public var url: String
    /// The URLs that redirects led to, in order.
    public var hops: [String]
    /// The redirects that led there, in order.
    package var redirects: [Redirect] = []
    /// The names of the interceptors that would be asked, in their order.
    public var interceptors: [String] = []
    /// What was decided about the relocation entries that have a condition or exceptions, in order.
    public var decisions: [RelocationDecision] = []
    /// The parameters that the destination would see: found when they are first read, of the routes as they were.
    public var parameters: RouteParameters {
        get { late?.parameters ?? given }
        set { (given, late) = (newValue, nil) }
    }
    /// Those of a URL that leads nowhere, or that were set.
    fileprivate var given: RouteParameters
    /// Those of a destination.
    fileprivate var late: LateParameters?
    /// Whether this is the route of a `route_fallback_url`.
    package var fellBack: Bool
    /// Why nothing would be opened; nil when something would.
    public var error: Failure?
    /// Whether an open that a crash interrupted may run again.
    public var idempotent: Bool

    /// The route that would take the URL.
    var matched: MatchedRoute?
    /// What a map lets its opens go through.
    var gate: Boxed<Interceptor>?

    /// What a call would run.
    var target: Boxed<CallTarget>?
    /// The exposed method that a call would run.
    package var method: MethodDescription? { target?.value.found.method.description }
    /// The service of that method.
    package var service: String? { target?.value.service }
    /// What a map lets the call return in place of what the method would; nil when the method runs.
    public var answer: JSONValue? { target?.value.answer }

    /// The parameters that the route is known to read.
    package var declared: [RouteParameter] { matched?.record.parameters ?? [] }

    /// How the destination is shown when the call does not say it.
    var standardJumpType = JumpType.push

    /// How the destination would be shown.
    public var presentation: Presentation { Presentation(parameters, standard: standardJumpType) }
}

extension RouteRequest.Parent {
    /// What a URL above leads to; nil when nothing would be opened.
    init?(_ resolution: Resolution) {
        guard let record = resolution.matched?.record else { return nil }
        self.init(
            name: record.route.name ?? record.pattern.text, route: record.pattern.text, url: resolution.url,
            parameters: resolution.parameters.merged)
    }
}

extension Router {
    /// Finds where a URL would lead, without running a handler or an interceptor and without an event.
    ///
    /// It calls the routes' conditional redirects, which must have no side effects.
    public func resolve(_ url: String, parameters: [String: JSONValue] = [:]) -> Resolution {
        resolve(url, parameters, namesNearest: true)
    }

    /// The same for a caller, whom the routes' redirects may ask for.
    package func resolve(
        _ url: String, parameters: [String: JSONValue], caller: String
    ) -> Resolution {
        resolve(url, parameters, OpenContext(caller: caller), namesNearest: true)
    }

    /// Looking for similar names costs a hundred matches, so it is done only when they are shown.
    private func resolve(
        _ url: String, _ parameters: [String: JSONValue], _ context: OpenContext = .init(),
        namesNearest: Bool
    ) -> Resolution {
        var resolution = Resolution(
            url: url, hops: [],
            given: RouteParameters(caller: parameters, rule: configuration.dialect.merge),
            fellBack: false,
            idempotent: false)
        resolve(url, parameters, context, namesNearest: namesNearest, &resolution)
        return consume resolution
    }

    private func resolve(
        _ url: String, _ parameters: [String: JSONValue], _ context: OpenContext, namesNearest: Bool,
        _ resolution: inout Resolution
    ) {
        // A route's own redirect may resolve URLs, its own among them.
        let scope: OpenScope
        do throws(Failure) {
            scope = try OpenScope.current.entered(by: url)
        } catch {
            resolution.error = error
            return
        }
        let snapshot = snapshot
        let read: RouteURL
        do throws(Failure) {
            read = try snapshot.state.read(url)
        } catch {
            resolution.error = error
            return
        }
        guard !ServiceURL.matches(read, configuration) else {
            resolution.url = read.text
            resolve(service: read, parameters, &resolution)
            return
        }
        var state = OpenState(
            explaining: PendingOpen(url: url, parameters: parameters, context: context), read, snapshot,
            within: scope)
        follow(&state, namesNearest, &resolution)
        guard resolution.error?.code == .noRoute, let fallback = state.fallback else { return }
        var second = resolution
        second.error = state.fallBack(to: fallback)
        if second.error == nil { follow(&state, namesNearest, &second) }
        if second.error == nil {
            second.fellBack = true
            resolution = second
        }
    }

    /// Whether a route or an exposed method takes the URL; runs nothing.
    ///
    /// A `route_fallback_url` does not count, a registered fallback pattern does.
    public func canOpen(_ url: String) -> Bool {
        let resolution = resolve(url, [:], namesNearest: false)
        return resolution.error == nil && !resolution.fellBack
    }

    /// The most pages below one that is opened with its parents.
    private static let maximumParents = 8

    /// The pages that take the beginnings of a URL, the farthest first; each route once.
    func parents(of url: RouteURL, _ record: StoredRoute) -> [Resolution] {
        var seen = [record]
        var parents: [Resolution] = []
        for count in 1..<max(1, min(url.components.count, Self.maximumParents * 2)) {
            let above =
                try? RouteURL(
                    scheme: url.scheme, components: Array(url.components.prefix(count)), query: [])
                as RouteURL
            guard let above, parents.count < Self.maximumParents else { break }
            let resolution = resolve(above.text, [:], namesNearest: false)
            guard resolution.error == nil, let record = resolution.matched?.record,
                record.route.kind == .page,
                !seen.contains(where: { $0 === record })
            else { continue }
            seen.append(record)
            parents.append(resolution)
        }
        return parents
    }

    private func resolve(
        service url: RouteURL, _ parameters: [String: JSONValue], _ resolution: inout Resolution
    ) {
        do throws(Failure) {
            let call = try ServiceURL(url, caller: parameters)
            resolve(call.service, call.method, call.source, &resolution)
        } catch {
            resolution.error = error
        }
    }

    /// Finds what a call would run, after maps, without running it and without an event.
    ///
    /// - Parameters:
    ///   - service: The exposed name.
    ///   - method: As for ``ServiceRegistry/call(_:_:arguments:result:deadline:context:)``.
    ///   - arguments: By which the conditions of maps may decide; they need not fit the method.
    public func resolveCall(
        _ service: String, _ method: String, arguments: ServiceArguments = .positional([])
    ) -> Resolution {
        var resolution = Resolution(
            url: "\(service).\(method)", hops: [],
            given: RouteParameters(rule: configuration.dialect.merge),
            fellBack: false, idempotent: false)
        resolve(service, method, ArgumentSource(arguments), &resolution)
        return resolution
    }

    private func resolve(
        _ service: String, _ method: String, _ source: ArgumentSource, _ resolution: inout Resolution
    ) {
        var decisions: [RelocationDecision]? = []
        defer { resolution.decisions = decisions ?? [] }
        switch services.find(service, method) {
        case .failure(let failure): resolution.error = failure
        case .success(let found):
            let first = CallTarget(service: service, found: found)
            switch services.follow(first, source, mayWait: false, &decisions) {
            case .waits: break
            case .ended(let failure): resolution.error = failure
            case .goesOn(let target):
                resolution.target = Boxed(target)
                resolution.idempotent = target.found.method.description.idempotent || target.answer != nil
                resolution.error = target.found.service.module?.failure.map { Failure(.module, "\($0)") }
            }
        }
    }

    private func follow(_ state: inout OpenState, _ namesNearest: Bool, _ resolution: inout Resolution) {
        switch state.next(in: self) {
        case .rejected(let rejection): resolution.error = rejection
        case .notFound:
            resolution.given.query = state.url.queryParameters.last
            let nearest = namesNearest ? state.nearest : nil
            resolution.error = Failure(
                .noRoute, NearestRoutes.text(state.url.text, after: state.hops, of: resolution.url, nearest),
                nearest: nearest?.patterns ?? [])
        case .candidate(let matched):
            resolution.matched = matched
            resolution.className = matched.record.route.name
            if matched.captured == nil || state.url.parts.hasQuery {
                resolution.late = state.lateParameters()
            } else {
                resolution.given = state.parameters(for: matched)
            }
            resolution.standardJumpType = state.jumpType(of: matched)
            resolution.idempotent = matched.record.route.idempotent
            let interceptors = state.snapshot.state.interceptors
            if !interceptors.isEmpty {
                resolution.interceptors = interceptors.filter { $0.sees(matched, state.url) }.map(\.name)
            }
            if let gate = state.gate {
                resolution.gate = Boxed(gate)
                resolution.interceptors.insert(gate.name, at: 0)
            }
        }
        resolution.route = state.route
        resolution.url = state.url.text
        if !state.hops.isEmpty { (resolution.hops, resolution.redirects) = (state.hops, state.redirects) }
        if let decisions = state.decisions, !decisions.isEmpty { resolution.decisions = decisions }
    }
}
