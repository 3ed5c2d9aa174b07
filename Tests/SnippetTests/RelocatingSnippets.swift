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

    @Test func `a map redirects, adds, and names what does nothing`() async throws {
        let router = Router()
        for (path, name) in [
            ("scheme://router/demo", "Demo"), ("scheme://router/demo1", "DemoA"),
            ("scheme://router/demo3", "DemoC"), ("scheme://store/items/:id", "Item"),
        ] {
            try router.register(path, name: name) { request in .opened(.string(request.route)) }
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
