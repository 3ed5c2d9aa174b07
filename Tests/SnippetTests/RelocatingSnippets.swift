import Testing
import Waypost

@Suite struct `Snippets on relocation` {
    // snippet
    func redirectDemo(of router: Router) throws -> RelocationReport {
        let map = try JSONValue(
            parsing: """
                [{"routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/demo1"},
                 {"routerType": 2, "path": "scheme://router/demo33", "className": "DemoC"},
                 {"routerType": 1, "orginPath": "scheme://shop/**", "targetPath": "scheme://store/**"},
                 {"routerType": 1, "orginPath": "scheme://router/old", "targetPath": "scheme://router/gone"}]
                """)
        let entries = try RelocationEntry.list(map)
        return try router.relocate([RelocationLayer(name: "agent", entries: entries)])
    }
    // end snippet

    // snippet
    func repairPaths(of router: Router) throws {
        try router.patch([
            RelocationEntry(.replace(origin: "scheme://router/demo", target: "scheme://router/demo1"))
        ])
        try router.patch([RelocationEntry(.add(path: "scheme://router/demo34", className: "DemoC"))])
        try router.patch([RelocationEntry(.reset(origin: "scheme://router/demo", target: nil))])
    }
    // end snippet

    @Test func `a patch adds to those before`() async throws {
        let router = Router()
        for (path, name) in [("demo", "Demo"), ("demo1", "DemoA"), ("demo3", "DemoC")] {
            try router.register("scheme://router/\(path)", name: name) { _ in .opened() }
        }
        try repairPaths(of: router)
        #expect(await router.open("scheme://router/demo34").isSuccess)
        #expect(await router.open("scheme://router/demo").hops.isEmpty)
    }

    // snippet
    func moveProfiles(of router: Router) throws {
        let profile = RelocationEntry(
            .replace(origin: "scheme://profile/:id", target: "scheme://user/:id"),
            except: ["scheme://profile/me"])
        let old = RelocationEntry(.replace(origin: "/old/**", target: "/new/**"))
        let kept = RelocationEntry(.reset(origin: "scheme://old/help", target: nil))
        try router.relocate([RelocationLayer(name: "agent", entries: [profile, old, kept])])
    }
    // end snippet

    // snippet
    func tryNewCart(of router: Router) throws -> [RelocationDecision] {
        router.updateRelocationContext { client in
            client.agent = "kiosk-7"
            client.build = "2.4.1"
            client.labels["region"] = "eu"
        }
        let entry = RelocationEntry(
            .replace(origin: "scheme://cart", target: "scheme://cart2"),
            when: [
                "build": ">=2.1 <3", "labels": ["region": "eu"], "share": ["percent": 10, "salt": "exp-1"],
            ])
        try router.relocate([RelocationLayer(name: "agent", entries: [entry])])
        return router.resolve("scheme://cart").decisions
    }
    // end snippet

    @Test func `a pattern redirects what it captures, and exceptions stay`() async throws {
        let router = Router()
        for path in ["profile/:id", "user/:id", "new/help", "new/a/b"] {
            try router.register("scheme://\(path)") { request in .opened(.string(request.route)) }
        }
        try router.register("scheme://old/help") { _ in .opened() }
        try moveProfiles(of: router)
        #expect(await router.open("scheme://profile/7").url == "scheme://user/7")
        #expect(await router.open("scheme://profile/me").route == "scheme://profile/:id")
        #expect(await router.open("scheme://old/a/b").url == "scheme://new/a/b")
        #expect(await router.open("scheme://old/help").route == "scheme://old/help")
    }

    @Test func `a condition says why it does not hold`() throws {
        let router = Router()
        for path in ["cart", "cart2"] { try router.register("scheme://\(path)") { _ in .opened() } }
        #expect(try tryNewCart(of: router).map(\.reason) == ["share 10 % of salt exp-1: no"])
    }

    @Test func `a map redirects, adds, and names what does nothing`() async throws {
        let router = Router()
        for (path, name) in [
            ("scheme://router/demo", "Demo"), ("scheme://router/demo1", "DemoA"),
            ("scheme://router/demo3", "DemoC"), ("scheme://store/items/:id", "Item"),
        ] {
            try router.register(RouteKey(path), name: name) { request in .opened(.string(request.route)) }
        }
        let report = try redirectDemo(of: router)
        #expect(report.entries == 4)
        #expect(report.inactive.map(\.index) == [3])
        #expect(await router.open("scheme://router/demo?id=2").url == "scheme://router/demo1?id=2")
        #expect(await router.open("scheme://router/demo33").isSuccess)
        #expect(await router.open("scheme://shop/items/7").route == "scheme://store/items/:id")
        #expect(await router.open("scheme://router/demo9").code == .noRoute)
    }
}
