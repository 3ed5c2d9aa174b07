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
    func closeTheShop(of router: Router, isLoggedIn: @escaping @Sendable () -> Bool) throws {
        router.gate("login") { _ in
            isLoggedIn() ? .proceed : .redirect(to: "scheme://login")
        }
        try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: [
                    RelocationEntry(.off(.pages("scheme://shop/**"), reason: "the shop opens at nine")),
                    RelocationEntry(.off(.service("PrinterService")), except: ["status()"]),
                    RelocationEntry(.answer(.init("FlagService", "flags()"), with: ["beta": false])),
                    RelocationEntry(
                        .replaceMethod(
                            .init("PayService", "pay(order:)"), by: .init("OldPayService", "pay(order:)"))),
                    RelocationEntry(.gate(pages: "scheme://account/**", through: "login")),
                    RelocationEntry(.refuse(pages: "scheme://lab/**", reason: "closed for today")),
                ])
        ])
    }
    // end snippet

    @Test func `a shop is closed, a method answered, an account behind its gate`() async throws {
        let router = Router()
        for path in ["shop/tea", "account/me", "login", "lab/x"] {
            try router.register(RouteKey("scheme://\(path)")) { _ in .opened() }
        }
        try router.services.expose(
            ExposedService("FlagService", make: { 1 }) {
                Exposed("flags()") { (_: Int) in ["beta": true] }
            })
        try closeTheShop(of: router, isLoggedIn: { false })
        #expect(await router.open("scheme://shop/tea").detail == "the shop opens at nine")
        #expect(await router.open("scheme://account/me").url == "scheme://login")
        #expect(await router.open("scheme://lab/x").detail.hasSuffix("closed for today"))
        #expect(try await router.services.call("FlagService", "flags") == ["beta": false])
    }

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
