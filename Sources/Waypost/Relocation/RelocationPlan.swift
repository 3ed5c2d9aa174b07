/// What all layers together ask for: redirects to follow, patterns to add and to take away.
///
/// Made from the entries alone, so that it stays valid while routes come and go.
package struct RelocationPlan: Sendable {
    /// Where an entry stands.
    package struct Place: Sendable, Hashable {
        package var layer: String
        package var index: Int

        package init(layer: String, index: Int) {
            self.layer = layer
            self.index = index
        }

        /// For people, who count from 1.
        package var text: String { "entry \(index + 1) of \(layer)" }
    }

    /// The redirects and resets by their origins.
    private(set) var redirecting = RelocationTable()
    /// What pages go through, by what it is about.
    package private(set) var guards = RelocationTable()
    /// What happens to calls.
    package private(set) var calls = CallRules()
    /// Whether every origin is a URL or a subtree with one redirect that always applies, and takes what its pattern takes.
    private(set) var isPlain = true
    /// All redirects to all their targets, by layer and place.
    package private(set) var redirects: [(redirect: RelocationRedirect, place: Place)] = []
    /// The rules of each path that is added or taken away, in the order in which they are tried.
    package private(set) var paths: [[RelocationPathRule]] = []
    /// The entries whose condition can't be used, and why.
    package private(set) var faults: [(place: Place, reason: String)] = []
    /// The entries that nothing looks at, each with the one of a later layer that takes its place.
    private(set) var hidden: [Place: Place] = [:]
    private(set) var entries = 0
    /// How much of the work that a map may take checking it took, in per cent.
    private(set) var effort = 0
    package let maximumHops: Int
    private let allowed: RelocationSteps

    /// Whether opens need not look at it: there is no redirect, and nothing guards pages.
    private(set) var isEmpty = true
    /// The rules of each origin, in the order in which they are tried.
    package var rules: [[RelocationRule]] { redirecting.rules }
    var origins: RouteTable? { redirecting.origins }
    /// The conditions of all entries, with the places of these.
    package var conditions: [(place: Place, condition: RelocationCondition)] {
        let pages = (rules + guards.rules).joined().map { ($0.place, $0.condition) }
        let others =
            paths.joined().map { ($0.place, $0.condition) } + calls.all.map { ($0.place, $0.condition) }
        return (pages + others).compactMap { place, condition in condition.map { (place, $0) } }
    }
    var additions: [RelocationPathRule] { paths.joined().filter { $0.className != nil } }
    package var deletions: [RelocationPathRule] { paths.joined().filter { $0.className == nil } }

    /// A plan that asks for nothing.
    init(maximumHops: Int) {
        self.maximumHops = maximumHops
        allowed = .ofMap
    }

    /// Puts the layers on each other, the later over the earlier, and follows every redirect once.
    ///
    /// - Parameter allowed: How much work that may be.
    /// - Throws: ``RelocationError``, 422 `CHAIN` also for what takes more than that.
    init(
        _ layers: [RelocationLayer], maximumHops: Int, converters: [String: RouteConverter] = [:],
        ignoresCase: Bool = false, allowed: RelocationSteps = .ofMap
    ) throws(RelocationError) {
        var refusals = RelocationRefusals()
        try self.init(
            layers, maximumHops: maximumHops, converters: converters, ignoresCase: ignoresCase,
            allowed: allowed, &refusals)
    }

    /// The same with what is done about what is refused; one whose refusals are kept is for a check alone.
    init(
        _ layers: [RelocationLayer], maximumHops: Int, converters: [String: RouteConverter],
        ignoresCase: Bool, allowed: RelocationSteps, _ refusals: inout RelocationRefusals
    ) throws(RelocationError) {
        self.maximumHops = maximumHops
        self.allowed = allowed
        let language = RelocationLanguage(converters: converters, ignoresCase: ignoresCase)
        var steps = allowed
        var collected = Collected()
        for layer in layers {
            for (index, entry) in layer.entries.enumerated() {
                entries += 1
                let place = Place(layer: layer.name, index: index)
                guard !refusals.leftOut.contains(place) else { continue }
                do throws(RelocationError) {
                    if let fault = try collected.add(entry, place, language) { faults.append((place, fault)) }
                } catch {
                    try refusals.add(error.inLayer(layer.name))
                }
            }
            collected.endLayer(&hidden)
        }
        let isEarlier = Self.order(of: layers)
        paths = collected.paths.all.sorted { isEarlier($0.first?.place, $1.first?.place) }
        try index(
            collected.origins.all.sorted { isEarlier($0.first?.place, $1.first?.place) },
            collected.guards.all.sorted { isEarlier($0.first?.place, $1.first?.place) }, language, &steps)
        calls = CallRules(collected.calls.all.sorted { isEarlier($0.first?.place, $1.first?.place) })
        try checkPatterns(language, &steps)
        redirects = rules.joined().flatMap { rule in rule.redirects.map { ($0, rule.place) } }
        if rules.contains(where: { $0.count > 1 }) { redirects.sort { isEarlier($0.place, $1.place) } }
        var chains = RelocationChains(self, steps, refusals)
        defer { refusals = chains.refusals }
        try chains.check()
        steps = chains.steps
        effort = 100 - 100 * steps.left / allowed.left
    }

    /// Whether one place comes before another: by layer, then by entry.
    private static func order(of layers: [RelocationLayer]) -> (Place?, Place?) -> Bool {
        let order = Dictionary(
            layers.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        return { first, second in
            guard let first, let second else { return false }
            return (order[first.layer] ?? 0, first.index) < (order[second.layer] ?? 0, second.index)
        }
    }

    private mutating func index(
        _ all: [[RelocationRule]], _ guards: [[RelocationRule]], _ language: RelocationLanguage,
        _ steps: inout RelocationSteps
    ) throws(RelocationError) {
        // A reset makes an exception to what takes more than its origin; beside URLs alone it has nothing left to do.
        let isWide = all.joined().contains {
            $0.redirect != nil && ($0.origin.isSubtree || $0.origin.pattern != nil)
        }
        let rules = all.filter { alternatives in isWide || alternatives.contains { $0.redirect != nil } }
        isPlain = rules.allSatisfy {
            $0.count == 1 && $0[0].isPlain && $0[0].origin.pattern == nil && !$0[0].origin.isNarrower
        }
        func addOrigin(
            _ pattern: RoutePattern, _ number: UInt32, _ table: inout RouteTable
        ) throws(RelocationError) {
            try add(pattern, number, to: &table, &steps)
        }
        redirecting = try RelocationTable(rules, language, add: addOrigin)
        // `on` alone has nothing to switch on.
        let isGuarding = guards.joined().contains { $0.guarding != nil }
        self.guards = try RelocationTable(isGuarding ? guards : [], language, add: addOrigin)
        isEmpty = rules.isEmpty && !isGuarding
    }

    /// What a router does with the paths that are added.
    private func checkPatterns(
        _ language: RelocationLanguage, _ steps: inout RelocationSteps
    ) throws(RelocationError) {
        var table = language.table()
        for (number, rule) in additions.enumerated() {
            guard let pattern = try? RoutePattern(rule.pattern, syntax: table.syntax) else { continue }
            try add(pattern, UInt32(truncatingIfNeeded: number), to: &table, &steps)
        }
    }

    private func add(
        _ pattern: RoutePattern, _ number: UInt32, to table: inout RouteTable,
        _ steps: inout RelocationSteps
    ) throws(RelocationError) {
        let before = table.passed
        _ = try? table.add(pattern, index: number, replacing: true)
        steps.take(5 * (table.passed - before))
        try checkWork(steps)
    }

    /// - Throws: 422 `CHAIN` when the map takes more work than a map may.
    func checkWork(_ steps: RelocationSteps) throws(RelocationError) {
        guard steps.areOver else { return }
        throw RelocationError(
            .chain,
            detail: "checking where \(entries) entries lead takes more than "
                + "\(allowed.left) steps, because too many of their origins take the same URLs; make them narrower, or fewer"
        )
    }

    // MARK: Finding

    /// A redirect that takes a URL, and the URL that it leads to.
    struct Hop: Sendable {
        let redirect: RelocationRedirect
        let url: String
    }

    /// The redirect that takes a URL, if any.
    ///
    /// - Parameters:
    ///   - requester: Who asks; nil for the redirects without a condition only.
    ///   - decisions: Gets what was decided about rules with a condition or exceptions; nil when no one reads it.
    ///   - steps: What may still be looked at; when they are over there is no redirect.
    func hop(
        for url: RouteURL, _ requester: RelocationRequester?, _ decisions: inout [RelocationDecision]?,
        _ steps: inout RelocationSteps
    ) -> Hop? {
        if isPlain { return origins?.firstMatch(url).flatMap { plainHop($0, url) } }
        guard let found = redirecting.find(url, requester, &decisions, &steps) else { return nil }
        guard let (input, reason) = found.condition else {
            guard let redirect = found.rule.redirect else {
                decisions?.append(found.rule.place.decision(true, "\(found.rule.origin.shown) is reset"))
                return nil
            }
            return hop(redirect, found.match, url, &steps)
        }
        let (redirect, variant) = found.rule.redirect(input)
        let target = variant.map { ", target \($0 + 1)" } ?? ""
        decisions?.append(found.rule.place.decision(true, reason + target))
        return redirect.map { hop($0, found.match, url, &steps) }
    }

    /// What the opens of a URL go through, if anything; see ``hop(for:_:_:_:)``.
    func guarding(
        _ url: RouteURL, _ requester: RelocationRequester?, _ decisions: inout [RelocationDecision]?,
        _ steps: inout RelocationSteps
    ) -> PageGuard? {
        guard !guards.rules.isEmpty, let found = guards.find(url, requester, &decisions, &steps) else {
            return nil
        }
        let what = "\(found.rule.origin.shown): \(found.rule.guarding?.text ?? "on")"
        decisions?.append(
            found.rule.place.decision(true, (found.condition.map { "\($0.reason), " } ?? "") + what))
        return found.rule.guarding
    }

    /// The redirect of a plain plan that takes a URL whose origin was found.
    func plainHop(_ match: RouteMatch, _ url: RouteURL) -> Hop? {
        rules[Int(match.index)].first?.redirect.map { Hop(redirect: $0, url: $0.apply(to: url)) }
    }

    /// The URL that a redirect without a condition leads to, whoever asks; nil when none takes it.
    package func target(of url: RouteURL, _ steps: inout RelocationSteps) -> String? {
        var decisions = [RelocationDecision]?.none
        return hop(for: url, nil, &decisions, &steps)?.url
    }

    private func hop(
        _ redirect: RelocationRedirect, _ match: RelocationTable.Match, _ url: RouteURL,
        _ steps: inout RelocationSteps
    ) -> Hop {
        let target = redirect.apply(to: url, captured: captured(match, in: url))
        steps.take(100 + url.text.utf8.count + target.utf8.count)
        return Hop(redirect: redirect, url: target)
    }

    /// Follows redirects from a URL, at most so many, until something is known of one of the URLs.
    ///
    /// - Parameters:
    ///   - requester: Who asks; nil for the redirects without a condition only.
    ///   - answer: What is known of a URL; nil when that depends on where it leads.
    /// - Returns: What was known; false when nothing was of any.
    package func leads(
        _ url: RouteURL, hops: Int, _ requester: RelocationRequester?, _ steps: inout RelocationSteps,
        _ answer: (RouteURL, inout RelocationSteps) -> Bool?
    ) -> Bool {
        var decisions = [RelocationDecision]?.none
        var url = url
        for hop in 0...max(0, hops) {
            if let answer = answer(url, &steps) { return answer }
            guard hop < hops, let next = self.hop(for: url, requester, &decisions, &steps),
                let read = try? RouteURL(next.url) as RouteURL
            else { return false }
            url = read
        }
        return false
    }

    /// Whether it depends on a condition where this URL leads.
    func isConditional(at url: RouteURL, _ steps: inout RelocationSteps) -> Bool {
        !isPlain
            && matches(url, &steps).contains { match in
                steps.take(rules[match.number].count)
                return rules[match.number].contains { $0.condition != nil }
            }
    }

    /// Whether an origin takes a URL, whatever its conditions are.
    package func takes(_ url: RouteURL) -> Bool {
        var steps = RelocationSteps.ofOpen
        return !matches(url, &steps).isEmpty
    }

    /// The origins of redirects that take a URL; see ``RelocationTable/matches(_:_:)``.
    func matches(_ url: RouteURL, _ steps: inout RelocationSteps) -> [RelocationTable.Match] {
        redirecting.matches(url, &steps)
    }

    /// What the placeholders of an origin take of a URL.
    func captured(_ match: RelocationTable.Match, in url: RouteURL) -> [CapturedParameter] {
        redirecting.captured(match, in: url)
    }
}

/// What an entry asks for, which knows where the entry stands.
private protocol PlacedRule {
    var place: RelocationPlan.Place { get }
    var condition: RelocationCondition? { get }
}

extension RelocationRule: PlacedRule {}
extension RelocationPathRule: PlacedRule {}
extension CallRule: PlacedRule {}

/// The rules of all layers, by what they are about, while they are put on each other.
private struct Collected {
    var origins = RelocationAlternatives<RelocationRule>()
    var paths = RelocationAlternatives<RelocationPathRule>()
    var guards = RelocationAlternatives<RelocationRule>()
    var calls = RelocationAlternatives<CallRule>()

    /// Adds the rule of an entry; why it never applies, where that is so.
    mutating func add(
        _ entry: RelocationEntry, _ place: RelocationPlan.Place, _ language: RelocationLanguage
    ) throws(RelocationError) -> String? {
        if let rule = RelocationPathRule(entry, place) {
            if rule.fault == nil { paths.add(rule, at: RelocationPath.Key(of: rule.pattern)) }
            return rule.fault
        }
        if let rule = CallRule(entry, place) {
            if rule.fault == nil { calls.add(rule, at: RelocationPath.Key(of: rule.subject.text)) }
            return rule.fault
        }
        guard let rule = try RelocationRule(entry, place, language) else { return nil }
        if rule.fault == nil {
            try rule.isOfPages ? Self.add(rule, to: &guards) : Self.add(rule, to: &origins)
        }
        return rule.fault
    }

    private static func add(
        _ rule: RelocationRule, to origins: inout RelocationAlternatives<RelocationRule>
    ) throws(RelocationError) {
        guard let earlier = origins.add(rule, at: rule.origin.key),
            earlier.origin.shown != rule.origin.shown
        else { return }
        throw RelocationError(
            .badField, layer: nil, index: rule.place.index, field: rule.originField,
            detail: "\(rule.origin.shown) differs only by case from the origin of entry "
                + "\(earlier.place.index + 1)", others: [earlier.place])
    }

    mutating func endLayer(_ hidden: inout [RelocationPlan.Place: RelocationPlan.Place]) {
        origins.endLayer(&hidden)
        paths.endLayer(&hidden)
        guards.endLayer(&hidden)
        calls.endLayer(&hidden)
    }
}

/// The rules about one origin or path each, while layers are put on each other.
///
/// In a layer, rules with a condition come in their order, then the one without, which hides all layers before.
private struct RelocationAlternatives<Rule: PlacedRule> {
    private var lists: [RelocationPath.Key: [Rule]] = [:]
    private var layer: [RelocationPath.Key: (conditional: [Rule], plain: Rule?)] = [:]

    var all: Dictionary<RelocationPath.Key, [Rule]>.Values { lists.values }

    /// Adds a rule, and returns the one without a condition whose place in this layer it takes.
    @discardableResult
    mutating func add(_ rule: Rule, at key: RelocationPath.Key) -> Rule? {
        guard rule.condition == nil else {
            layer[key, default: ([], nil)].conditional.append(rule)
            return nil
        }
        defer { layer[key, default: ([], nil)].plain = rule }
        return layer[key]?.plain
    }

    mutating func endLayer(_ hidden: inout [RelocationPlan.Place: RelocationPlan.Place]) {
        for (key, rules) in layer {
            if let plain = rules.plain {
                for earlier in lists[key] ?? [] { hidden[earlier.place] = plain.place }
            }
            lists[key] = rules.conditional + (rules.plain.map { [$0] } ?? lists[key] ?? [])
        }
        layer = [:]
    }
}

/// How much of the work with redirects is left.
///
/// Counted and not timed, so that a map is taken or refused alike on every machine. A step is about ten nanoseconds of
/// a program that was built for release: a look at an origin in a list of many; some fifty are a candidate that is
/// found, a hundred and more a URL that is made and read.
package struct RelocationSteps: Sendable {
    /// For all that checking one map, with the layers beside it, may take: 0.3 s.
    ///
    /// Two thousand redirects of URLs take four hundredths of it, as many patterns that stand beside each other a half.
    static let ofMap = RelocationSteps(left: 30_000_000)
    /// For all redirects of one open: 10 ms.
    package static let ofOpen = RelocationSteps(left: 1_000_000)

    /// Negative when more was taken than there was.
    private(set) var left: Int

    package init(left: Int) { self.left = left }

    var areOver: Bool { left < 0 }

    mutating func take(_ count: Int) { left = max(-1, left - count) }
}
