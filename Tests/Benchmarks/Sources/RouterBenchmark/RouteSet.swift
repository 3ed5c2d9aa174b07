/// Routes and the paths that are looked up in them.
struct RouteSet {
    var name: String
    var routes: [String]
    var hits: [String]
    var misses: [String]

    /// The shape of a public REST interface: a few hundred routes, long common beginnings, up to three parameters.
    static func github() -> RouteSet {
        var routes: [String] = []
        let lists = [
            "emojis events feeds gists meta search/code search/users search/topics user user/emails user/keys "
                + "user/orgs user/repos user/starred user/teams users versions zen",
            "gists/:id users/:user orgs/:org teams/:id projects/:id licenses/:license user/keys/:id "
                + "user/following/:user gists/public gists/starred",
            "repos/:owner/:repo",
        ]
        for list in lists { routes += list.split(separator: " ").map { "/" + $0 } }
        let collections = [
            "users/:user":
                "events followers following gists keys orgs repos starred subscriptions installation hovercard",
            "orgs/:org": "events issues members teams repos hooks blocks invitations projects packages",
            "teams/:id": "members repos teams discussions projects invitations",
            "gists/:id": "star forks commits comments",
            "repos/:owner/:repo":
                "events notifications stargazers subscribers issues assignees labels milestones pulls comments "
                + "commits keys downloads forks hooks releases contributors languages teams tags branches "
                + "deployments environments pages topics collaborators git/refs git/blobs git/trees git/tags "
                + "git/commits stats/contributors stats/participation traffic/views traffic/clones actions/runs "
                + "actions/secrets actions/artifacts",
        ]
        for (parent, list) in collections.sorted(by: { $0.key < $1.key }) {
            for child in list.split(separator: " ") {
                routes.append("/\(parent)/\(child)")
                if routes.count % 2 == 0 || parent.hasPrefix("repos") {
                    routes.append("/\(parent)/\(child)/:item")
                }
                if parent.hasPrefix("repos"), !child.contains("/") {
                    routes.append("/\(parent)/\(child)/:item/comments")
                    if routes.count % 3 == 0 { routes.append("/\(parent)/\(child)/:item/files") }
                }
            }
        }
        return RouteSet(name: "github", routes: routes)
    }

    /// The shape of a big system: services with modules, one to five components, up to three parameters.
    static func services(_ count: Int, name: String) -> RouteSet {
        let width = max(10, Int(Double(count).squareRoot() * 0.8))
        var routes: [String] = []
        routes.reserveCapacity(count)
        for number in 0..<count {
            let (service, module, kind) = (number % width, number / width, number % 10)
            switch kind {
            case 0..<4: routes.append("/service\(service)/module\(module)/action\(kind)")
            case 4..<8: routes.append("/service\(service)/module\(module)/:id/action\(kind)")
            default: routes.append("/service\(service)/:tenant/module\(module)/:id/items/:item")
            }
        }
        var generator = SplitMix(state: 7)
        routes.shuffle(using: &generator)
        // The texts lie in memory as they follow each other, as when they were read from a file.
        return RouteSet(name: name, routes: routes.map { String(decoding: Array($0.utf8), as: UTF8.self) })
    }

    private init(name: String, routes: [String]) {
        self.name = name
        self.routes = routes
        var generator = SplitMix(state: 2026)
        let values = [
            "octocat", "12345678", "swift-mqtt-agent", "6dcb09b5b57875f334f61aebed695e2e4193db5e", "main",
            "hello-world", "42", "c0ffee", "user-7781",
        ]
        func fill(_ route: String) -> String {
            route.split(separator: "/").map { component in
                component.hasPrefix(":") ? values.randomElement(using: &generator) ?? "42" : String(component)
            }.reduce(into: "") { $0 += "/" + $1 }
        }
        let picked = routes.count <= 1000 ? routes : Array(routes.shuffled(using: &generator).prefix(2000))
        hits = picked.map(fill)
        misses = picked.prefix(300).enumerated().map { index, route in
            switch index % 3 {
            case 0: fill(route) + "/nope/nope"
            case 1: fill(route) + "~/x/y/z/w"
            default: "/zz" + fill(route)
            }
        }
    }
}

/// A small generator, so that every run measures the same routes.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}
