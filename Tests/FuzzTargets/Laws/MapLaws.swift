import WaypostMessages

@testable import Waypost

/// Documents on `map` and `map/patch`, and what a router makes of them.
enum MapLaws: Laws {
    private static let rules = MapDocument.Rules(
        maximumBytes: 262_144, limits: .protocolDefaults, trusted: .none)

    private static let router: Router = {
        let router = Router()
        for name in ["demo", "demo1", "user/:id", "files/**"] {
            _ = try? router.register("scheme://router/\(name)", name: "Demo.\(name)") { _ in .opened() }
        }
        router.updateRelocationContext { client in
            client = RelocationContext(
                agent: "k1", build: "2.4.1", locale: "de-AT", labels: ["region": "eu"]
            ) { 1_795_216_000_000 }
        }
        return router
    }()

    static func read(_ bytes: [UInt8]) {
        let rules = MapDocument.Rules(maximumBytes: 1 << 20, limits: JSONLaws.wide, trusted: .none)
        guard let document = try? MapDocument(bytes, isPatch: true, rules) else { return }
        _ = try? RelocationPlan([RelocationLayer(name: "agent", entries: document.entries)], maximumHops: 8)
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        if let groups = try? GroupsDocument(bytes, for: "k1", limits: .protocolDefaults) {
            let again = try? GroupsDocument(groups.encoded(), for: "k1", limits: .protocolDefaults)
            try BrokenLaw.unless(again == groups, "groups are read as they were written")
            try BrokenLaw.unless(
                groups.groups(over: ["lobby"]).count <= 1 + GroupsDocument.maximumNames,
                "an agent is in no more groups than it is told")
        }
        for isPatch in [true, false] {
            guard let document = try? MapDocument(bytes, isPatch: isPatch, rules) else { continue }
            try check(document)
        }
    }

    private static func check(_ document: MapDocument) throws(BrokenLaw) {
        let entries = document.entries
        let again = try? RelocationEntry.list(.array(entries.map(\.json)))
        try BrokenLaw.unless(again == entries, "entries are read as they were written")
        for (index, entry) in entries.enumerated() {
            let place = RelocationPlan.Place(layer: "map", index: index)
            guard let redirect = try? RelocationRedirect(entry, place) else { continue }
            try check(redirect)
        }
        guard let report = try? router.relocate([RelocationLayer(name: "agent", entries: entries)]) else {
            return
        }
        // What is not understood is inactive, and never unconditional.
        let known = Set(report.conditional.map(\.index) + report.inactive.map(\.index))
        for (index, entry) in entries.enumerated() where entry.when != nil {
            // One that takes nothing away is not followed.
            if case .reset = entry.kind { continue }
            try BrokenLaw.unless(known.contains(index), "an entry with a condition is reported")
        }
        let place = RelocationPlan.Place(layer: "map", index: 0)
        let origins = entries.compactMap { (try? RelocationRedirect($0, place))?.origin.text }
        for url in ["scheme://router/demo?x=1", "scheme://old/user/7", "a://b/c"] + origins.prefix(8) {
            let resolution = router.resolve(url)
            try BrokenLaw.unless(
                resolution.hops.count <= router.configuration.maximumHops, "a chain of redirects has an end")
            if let last = resolution.hops.last {
                try BrokenLaw.unless((try? RouteURL(last) as RouteURL) != nil, "a redirect leads to a URL")
            }
        }
    }

    private static func check(_ redirect: RelocationRedirect) throws(BrokenLaw) {
        guard let origin = redirect.originPath, let path = redirect.target.path else {
            return try check(pattern: redirect)
        }
        let rest = origin.isSubtree ? ["x", "y/z"] : []
        let components = origin.components + rest
        let requested =
            try? RouteURL(
                scheme: origin.scheme, components: components, query: [("q", "1")], fragment: "f")
            as RouteURL
        // An address in brackets cannot be written as a component.
        guard let requested else { return }
        let url = try? RouteURL(redirect.apply(to: requested)) as RouteURL
        guard let url, let target = try? RouteURL(path.text) as RouteURL else {
            throw BrokenLaw(law: "a redirect leads to a URL")
        }
        try BrokenLaw.unless(
            url.scheme == path.scheme && url.components == path.components + rest,
            "a redirect leads to its target, and what stands below the origin to below it")
        try BrokenLaw.unless(
            url.query.pairs.starts(with: target.query.pairs) && url.query["q"] != nil,
            "the query goes along")
        try BrokenLaw.unless(url.fragment == target.fragment ?? "f", "the fragment goes along")
    }

    /// A plan of this redirect alone takes a sample of its origin, and leads it to a URL.
    private static func check(pattern redirect: RelocationRedirect) throws(BrokenLaw) {
        let entry = RelocationEntry(.replace(origin: redirect.origin.text, target: redirect.target.text))
        guard let sample = redirect.origin.sample,
            let plan = try? RelocationPlan([RelocationLayer(name: "agent", entries: [entry])], maximumHops: 8)
        else { return }
        var decisions = [RelocationDecision]?.none
        var steps = RelocationSteps.ofOpen
        guard let hop = plan.hop(for: sample, nil, &decisions, &steps) else {
            throw BrokenLaw(law: "a pattern takes a sample of itself")
        }
        // What was captured may make it longer than a URL may be, and no more than that.
        try BrokenLaw.unless(
            (try? RouteURL(hop.url) as RouteURL) != nil, "a redirect of a pattern leads to a URL")
    }
}
