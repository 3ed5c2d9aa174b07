import Threading

/// One open from its call to its end: where it is now, and what it met.
///
/// `open` and `resolve` both follow it with ``next(in:)``, so they can't differ.
struct OpenState: Sendable {
    /// How far it is.
    enum Stage: Sendable {
        /// Nothing of it was done.
        case called
        /// It has begun, and its URL is to be read.
        case begun
        /// Its URL is read, and is followed to a destination.
        case followed
    }

    /// What comes next.
    enum Next: Sendable {
        /// A route takes the URL; when its handler passes, ask for what comes next.
        case candidate(MatchedRoute)
        case rejected(Failure)
        case notFound
    }

    static let fallbackKey = "route_fallback_url"

    /// When it was called, as a time of ``MonotonicTime/continuous``.
    let start: UInt64
    private(set) var stage: Stage
    private(set) var snapshot: RouterSnapshot
    private(set) var call: PendingOpen
    /// Of what runs within this open.
    private(set) var scope: OpenScope
    /// The values of which the URL has the texts.
    private let typed: [String: JSONValue]?
    private(set) var url: RouteURL
    private(set) var hops: [String] = []
    /// How many redirects lead to where it begins again when everything changed while it waited.
    private var beginning = 0
    /// Since when interceptors let it wait, as a time of ``MonotonicTime/continuous``.
    var waitingSince: UInt64?
    /// Since when it waits for modules, as a time of ``MonotonicTime/continuous``; nil when it did not.
    var waitedForModulesSince: UInt64?
    /// The pattern of the route that came last; nil after a redirect.
    private(set) var route: String?
    /// What the handler of that route got; nil when it was not called.
    private(set) var received: Received?
    /// What became of the URL itself, when its fallback is opened instead.
    private(set) var original: Boxed<Original>?
    private var relocation: [String: JSONValue] = [:]
    private var matches: MatchedRoutes?
    private var requester: RelocationRequester?
    private var steps = RelocationSteps.ofOpen
    /// What a map does to the opens of the URL; nil for nothing.
    private(set) var guarding: PageGuard?
    /// What was decided about relocation entries; nil when no one reads it.
    private(set) var decisions: [RelocationDecision]?
    /// The redirects that were followed, where ``decisions`` are kept.
    private(set) var redirects: [Resolution.Redirect] = []

    /// How a URL ended whose fallback is opened instead.
    struct Original: Sendable {
        let opening: Opening
        let fallback: String
    }

    /// What a handler got, as the opening tells it.
    struct Received: Sendable {
        let parameters: RouteParameters
        let details: Boxed<Opening.Details>?
    }

    var context: OpenContext { call.context }

    // What every open calls is marked as mutating, also where it changes nothing: the state is large, and a function
    // that can't change it is given a copy.

    /// Follows relocation and conditional redirects to the next route that takes the URL.
    mutating func next(in router: Router) -> Next {
        while true {
            if matches == nil {
                if let rejection = followMaps(in: router) { return .rejected(rejection) }
                matches = MatchedRoutes(url, in: snapshot)
            }
            received = nil
            let captures = !explains
            guard let matched = matches?.next(url, in: snapshot, capturing: captures) else {
                route = nil
                return .notFound
            }
            route = matched.record.pattern.text
            if case .off(let failure) = guarding?.effect { return .rejected(failure) }
            if let module = matched.record.route.module, case let status = module.status, status != .ready {
                if let failure = module.failure(status) { return .rejected(Failure(.module, "\(failure)")) }
                // An open waits for the module first; what only looks where a URL leads runs nothing else of it.
                if !explains { return .candidate(matched) }
            }
            guard matched.record.route.redirect != nil, let target = ownRedirect(of: matched, in: router)
            else { return .candidate(matched) }
            if let rejection = redirect(to: target, by: matched.record.pattern.text, in: router) {
                return .rejected(rejection)
            }
        }
    }

    /// Where the route itself leads to; nil when it does not.
    mutating func ownRedirect(of matched: MatchedRoute, in router: Router) -> String? {
        guard let redirect = matched.record.route.redirect else { return nil }
        let request = request(for: matched, in: router)
        return OpenScope.$current.withValue(scope) { redirect(request) }
    }

    /// Whether it only looks where a URL leads.
    private var explains: Bool { decisions != nil }

    /// Notes what a handler is about to get.
    mutating func receive(_ request: RouteRequest, _ presentation: Presentation) {
        received = Received(
            parameters: request.parameters,
            details: Opening.Details.of(context, metadata: request.metadata, presentation))
    }

    // MARK: Beginning

    /// Begins within the opens and calls that it lies in; gives the reason when these are too many.
    mutating func begin() -> Failure? {
        do throws(Failure) {
            scope = try scope.entered(by: call.url)
            stage = .begun
            return nil
        } catch {
            return error
        }
    }

    /// Another URL is to be read, for a hook says so.
    mutating func begin(at target: String) { url = RouteURL(unread: target) }

    /// Reads the URL, which is then followed unless it is a service's.
    mutating func read() throws(Failure) {
        let target = url.text
        let snapshot = snapshot
        url = try snapshot.read(target)
        if target != call.url { hops = [url.text] }
        beginning = hops.count
        if !snapshot.isService(url) { stage = .followed }
    }

    /// Whether the caller called a service too: a hook may change a call, but not turn an open into one.
    var wasCall: Bool { hops.isEmpty || (try? RouteURL(call.url)).map(snapshot.isService) ?? false }

    // MARK: Redirects

    /// Goes on to another URL; nil when it may, otherwise why not.
    mutating func redirect(to target: String, by name: String, in router: Router) -> Failure? {
        let from = url.text
        if let rejection = move(to: target) { return rejection }
        noteRedirect(from, by: name)
        if !explains { router.notifyRedirect(from, url.text, by: name, context.ref) }
        return nil
    }

    private mutating func noteRedirect(
        _ from: String, _ entry: RelocationPlan.Place? = nil, by route: String? = nil
    ) {
        guard decisions != nil else { return }
        redirects.append(
            Resolution.Redirect(
                from: from, to: url.text, layer: entry?.layer, entry: entry.map { $0.index + 1 }, route: route
            ))
    }

    /// The routes that are near the URL, for one that no route matches.
    var nearest: NearestRoutes {
        NearestRoutes(
            to: url, in: snapshot.state.routes.table, deletedBy: snapshot.state.deletion(of: url)?.text)
    }

    /// The parameters of the call, for a URL that no route matches.
    var parameters: RouteParameters {
        RouteParameters(
            query: url.queryParameters.last, caller: call.parameters, relocation: relocation,
            objects: call.objects, rule: snapshot.state.configuration.dialect.merge)
    }

    // MARK: Fallback

    /// The fallback to open after this outcome: when no route was found, and in some dialects when its page failed.
    mutating func fallback(after outcome: Outcome) -> String? {
        if case .opened = outcome { return nil }
        guard stage == .followed, original == nil else { return nil }
        let fallsBackOnFailure = snapshot.state.configuration.dialect.fallsBackOnFailure
        return switch outcome {
        case .notFound: fallback
        case .failed(let failure) where fallsBackOnFailure && failure.code != .canceled: fallback
        case .rejected where fallsBackOnFailure && route != nil: fallback
        default: nil
        }
    }

    /// The URL to open instead of one that no route matches: from the query, else from the caller.
    var fallback: String? { url.query[Self.fallbackKey] ?? call.parameters[Self.fallbackKey]?.stringValue }

    /// Goes on to the fallback; nil when it may, otherwise why not.
    ///
    /// - Parameter original: What became of the URL itself.
    mutating func fallBack(to target: String, after original: Opening? = nil) -> Failure? {
        // Once only: the fallback's own fallback would never end with a wrong URL.
        call.parameters[Self.fallbackKey] = nil
        if let original { self.original = Boxed(Original(opening: original, fallback: target)) }
        let from = url.text
        if let rejection = move(to: target) { return rejection }
        noteRedirect(from)
        beginning = hops.count
        return nil
    }

    /// Begins again with what is in force by now.
    mutating func restart(_ snapshot: RouterSnapshot) {
        self.snapshot = snapshot
        guard stage == .followed else { return }
        hops.removeSubrange(beginning...)
        // It was one when the open came here.
        if let first = RouteURL(hops.last ?? call.url) { url = first }
        route = nil
        relocation = [:]
        matches = nil
        requester = nil
        guarding = nil
    }

    // MARK: Moving

    /// - Parameter read: The text, when it is read already.
    private mutating func move(to text: String, _ read: RouteURL? = nil) -> Failure? {
        route = nil
        let snapshot = snapshot
        let maximum = snapshot.state.configuration.maximumHops
        guard hops.count < maximum else {
            let path = [call.url] + hops + [text]
            let isCircle = path.dropLast().contains(text)
            let detail = path.map { RouteURL.withoutValues($0).cut(to: 200) }.joined(separator: " → ")
            return isCircle
                ? .cycle("redirects form a cycle: \(detail)")
                : .chain("there are more than \(maximum) redirects: \(detail)")
        }
        do throws(Failure) {
            let url = if let read { read } else { try snapshot.read(text) }
            // A redirect must not turn an open into a call: who may send a map may not call services by it.
            guard !snapshot.isService(url) else {
                return .redirectToService(url)
            }
            self.url = url
            hops.append(url.text)
            matches = nil
            return nil
        } catch {
            return error
        }
    }

    /// Follows the redirects of maps, and finds what they do to the opens of the URL to which these lead.
    private mutating func followMaps(in router: Router) -> Failure? {
        guard snapshot.followsMaps else { return nil }
        if requester == nil, !snapshot.mapsArePlain || snapshot.guardsPages {
            requester = RelocationRequester(snapshot.state.context, caller: call.parameters)
        }
        if let rejection = relocate(in: router) { return rejection }
        // The URL is copied for it.
        if snapshot.guardsPages { guarding = snapshot.guarding(url, requester, &decisions, &steps) }
        return endOfSteps
    }

    /// What the opens of the URL go through by a map; nil for nothing.
    var gate: Interceptor? { guarding?.gate(in: snapshot.state) }

    /// Follows the relocation of the URL as long as there is one that leads somewhere.
    private mutating func relocate(in router: Router) -> Failure? {
        let snapshot = snapshot
        var last: RelocationPlan.Place?
        while true {
            let known = decisions?.count
            guard let hop = snapshot.hop(for: url, requester, &decisions, &steps) else { return endOfSteps }
            if hop.redirect.addsParameters, hop.url == url.text {
                // It adds parameters to its own origin, and all are there.
                if hop.redirect.place == last {
                    if let known { decisions?.removeSubrange(known...) }
                } else {
                    relocation.merge(hop.redirect.params) { _, later in later }
                }
                return endOfSteps
            }
            last = hop.redirect.place
            // A redirect whose target this build does not have is not there: the origin opens as before.
            guard snapshot.allows(scheme: hop.redirect.target.scheme ?? url.scheme) else { return nil }
            let target = try? snapshot.read(hop.url)
            if let target, !snapshot.opens(target, requester, &steps) {
                return endOfSteps
            }
            let from = url.text
            if let rejection = move(to: hop.url, target) { return rejection }
            relocation.merge(hop.redirect.params) { _, later in later }
            noteRedirect(from, hop.redirect.place)
            if !explains { router.notifyRedirect(from, url.text, by: nil, context.ref) }
        }
    }

    /// Why the open ends when more redirects may take its URL than are looked at; nil when they do not.
    @inline(__always)
    private var endOfSteps: Failure? { steps.areOver ? tooManySteps : nil }

    private var tooManySteps: Failure {
        .chain(
            "too many redirects may match \(RouteURL.withoutValues(url.text).cut(to: 200)): one open checks at most "
                + "\(RelocationSteps.ofOpen.left) steps")
    }

    // MARK: Request

    /// The request that a destination sees.
    mutating func request(for matched: MatchedRoute, in router: Router) -> RouteRequest {
        RouteRequest(
            url: url, requested: call.url, route: matched.record.pattern.text,
            parameters: parameters(for: matched), hops: hops, context: context,
            metadata: matched.record.route.metadata, owner: router, standardJumpType: jumpType(of: matched))
    }

    /// How the destination is shown when the call does not say it.
    func jumpType(of matched: MatchedRoute) -> JumpType {
        matched.record.route.jumpType ?? snapshot.state.configuration.jumpType
    }

    /// The parameters that a destination sees.
    mutating func parameters(for matched: MatchedRoute) -> RouteParameters {
        Self.parameters(
            for: matched, url, in: snapshot, caller: call.parameters, objects: call.objects,
            relocation: relocation, typed)
    }

    /// The same, when they are read.
    mutating func lateParameters() -> LateParameters {
        LateParameters(of: url, in: snapshot, caller: call.parameters, relocation: relocation)
    }

    static func parameters(
        for matched: MatchedRoute, _ url: RouteURL, in snapshot: RouterSnapshot,
        caller: [String: JSONValue], objects: [String: any Sendable] = [:],
        relocation: [String: JSONValue], _ typed: [String: JSONValue]? = nil
    ) -> RouteParameters {
        var (query, repeated) = url.queryParameters
        var path = matched.captured ?? [:]
        var relocation = relocation
        if let typed {
            restore(typed, in: &path)
            restore(typed, in: &query)
        }
        let merge = snapshot.state.configuration.dialect.merge
        // ReerRouter's `push(url)` and `present(url)` win over the URL, although its query wins over the caller.
        if merge == .queryOverCaller, caller[Presentation.jumpTypeKey]?.isNull == false {
            query[Presentation.jumpTypeKey] = nil
            repeated[Presentation.jumpTypeKey] = nil
        }
        if let web = matched.webURL {
            // Whatever rule merges them, the page must get the URL that was opened.
            query["url"] = nil
            query["jumpType"] = nil
            repeated["url"] = nil
            repeated["jumpType"] = nil
            relocation["url"] = .string(web)
            path["jumpType"] = "1"
        }
        if !matched.record.params.isEmpty {
            relocation.merge(matched.record.params) { earlier, _ in earlier }
        }
        for (key, value) in matched.record.route.defaults
        where path[key] == nil && query[key] == nil && caller[key]?.isNull ?? true {
            relocation[key] = relocation[key] ?? value
        }
        return RouteParameters(
            path: path, query: query, repeated: repeated, caller: caller, relocation: relocation,
            objects: objects, rule: merge)
    }

    /// Puts values in the places of their texts, so that an integer stays one on its way through the URL.
    private static func restore(_ values: [String: JSONValue], in texts: inout [String: JSONValue]) {
        for (key, value) in values where texts[key] == .string(value.plainText) {
            texts[key] = value
        }
    }
}

extension OpenState {
    /// What came of it.
    mutating func opening(_ end: OpenEnd) -> Opening {
        var (nearest, parameters) = (NearestRoutes?.none, received?.parameters ?? .none)
        if case .notFound = end.outcome { (nearest, parameters) = (self.nearest, self.parameters) }
        let hasFallenBack = if case .opened = end.outcome { original != nil } else { false }
        return Opening(
            outcome: hasFallenBack ? .fellBack(to: url.text) : end.outcome, route: route,
            requested: call.url, url: url.text, hops: hops, value: end.value, native: end.native,
            nearestRoutes: nearest, duration: MonotonicTime.elapsed(since: start), parameters: parameters,
            details: received?.details ?? Opening.Details.of(context))
    }
}

// In an extension, so that it is made of all its parts at once, as an `Opening` is.
extension OpenState {
    /// An open of which nothing was done.
    @inline(__always)
    init(_ call: PendingOpen, since start: UInt64, _ snapshot: RouterSnapshot) {
        self.init(call, since: start, .called, RouteURL(unread: call.url), snapshot, .current)
    }

    /// What only looks where a URL leads.
    init(
        explaining call: PendingOpen, _ url: RouteURL, _ snapshot: RouterSnapshot, within scope: OpenScope
    ) {
        self.init(call, since: 0, .followed, url, snapshot, scope, decisions: [])
    }

    @inline(__always)
    private init(
        _ call: consuming PendingOpen, since start: UInt64, _ stage: Stage, _ url: RouteURL,
        _ snapshot: RouterSnapshot, _ scope: OpenScope, decisions: [RelocationDecision]? = nil
    ) {
        let typed = call.context.typedValues
        if typed != nil { call.context.typedValues = nil }
        self.init(
            start: start, stage: stage, snapshot: snapshot, call: call, scope: scope, typed: typed, url: url,
            decisions: decisions)
    }
}

/// What an open has to wait for.
enum Pause: Sendable {
    /// Modules that are being set up: those of which the open needs something, or may need it.
    case modules(ModuleNeed)
    /// The hooks, which may change the URL.
    case hooks
    /// The service that the URL calls.
    case service
    /// A route whose module, interceptors or handler may wait.
    case candidate(MatchedRoute)
}

/// What came of a step of an open, or of waiting.
enum OpenEvent: Sendable {
    /// Nothing that changes it: its next step follows.
    case nothing
    /// It waited, and routes or maps have changed since it began.
    case outdated
    case redirect(to: String, by: String)
    case waits(Pause)
    case ended(OpenEnd)
}

/// How an open ended, with what its destination returned.
struct OpenEnd: Sendable {
    let outcome: Outcome
    var value: JSONValue?
    var native: NativeValue?

    init(_ outcome: Outcome, value: JSONValue? = nil, native: NativeValue? = nil) {
        self.outcome = outcome
        self.value = value
        self.native = native
    }
}

extension Failure {
    static func redirectToService(_ url: RouteURL) -> Failure {
        .notAllowed("\(RouteURL.withoutValues(url.text)) is a service URL, which no redirect may lead to")
    }
}

extension RouteURL {
    /// The query as parameters; the last value of a key counts, and all are kept of one that is repeated.
    var queryParameters: (last: [String: JSONValue], repeated: [String: [JSONValue]]) {
        guard parts.hasQuery else { return ([:], [:]) }
        return withBytes(parts.queryStart, parts.queryEnd) { bytes in
            let pairs = Query.WrittenPairs(bytes: bytes).lazy.map {
                (PercentCoding.decode($0.key), JSONValue.string(PercentCoding.decode($0.value)))
            }
            var repeats = false
            let last = Dictionary(pairs) { _, last in
                repeats = true
                return last
            }
            guard repeats else { return (last, [:]) }
            let all = Dictionary(grouping: pairs) { $0.0 }.filter { $0.value.count > 1 }
            return (last, all.mapValues { $0.map(\.1) })
        }
    }
}
