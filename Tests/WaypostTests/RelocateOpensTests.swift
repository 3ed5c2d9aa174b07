import TestSupport
import Testing
import Threading

@testable import Waypost
@testable import WaypostTools

@Suite(.patient) struct `Relocate opens` {
    func router() throws -> Router { try recordingRouter(`Open a URL`.theRouter) }

    func layer(_ entries: [JSONValue], _ name: String = "patch") throws -> RelocationLayer {
        RelocationLayer(name: name, entries: try RelocationEntry.list(.array(entries)))
    }

    @Test func `TheRouter's redirect turns the white page into the yellow one and its reset restores it`()
        async throws
    {
        let router = try router()
        let redirect: JSONValue = [
            "routerType": 1, "targetPath": "scheme://router/demo1", "orginPath": "scheme://router/demo",
        ]
        let report = try router.relocate([try layer([redirect])])
        #expect(report == RelocationReport(entries: 1, inactive: []))
        let opening = await router.open("scheme://router/demo?desc=跳转白色界面被重定向到了黄色界面")
        #expect(opening.route == "scheme://router/demo1")
        #expect(opening.hops == ["scheme://router/demo1?desc=跳转白色界面被重定向到了黄色界面"])
        #expect(opening.url == opening.hops.last)
        #expect(opening.value?["name"] == "TheRouter_Example.TheRouterControllerA")
        #expect(opening.value?["params"] == ["desc": "跳转白色界面被重定向到了黄色界面"])

        let reset: JSONValue = [
            "routerType": 4, "targetPath": "scheme://router/demo", "orginPath": "scheme://router/demo",
        ]
        try router.relocate([try layer([redirect], "first"), try layer([reset], "second")])
        let restored = await router.open("scheme://router/demo?desc=x")
        #expect(restored.route == "scheme://router/demo")
        #expect(restored.hops.isEmpty)
    }

    @Test func `TheRouter's wrong path is repaired with type 2`() async throws {
        let router = try router()
        #expect(await router.open("scheme://router/demo33").code == .noRoute)
        try router.relocate([
            try layer([
                [
                    "routerType": 2, "className": "TheRouter_Example.TheRouterControllerC",
                    "path": "scheme://router/demo33", "params": ["from": "map"],
                ]
            ])
        ])
        let opening = await router.open("scheme://router/demo33?id=1")
        #expect(opening.value?["name"] == "TheRouter_Example.TheRouterControllerC")
        #expect(opening.value?["params"] == ["id": "1", "from": "map"])
        #expect(await router.open("scheme://router/demo3").isSuccess)
        #expect(router.routes.contains { $0.path == "scheme://router/demo33" })
        try router.relocate([])
        #expect(await router.open("scheme://router/demo33").code == .noRoute)
    }

    @Test func `type 3 takes exactly one pattern away and an empty map brings it back`() async throws {
        let router = try router()
        try router.relocate([try layer([["routerType": 3, "path": "scheme://router/demo2"]])])
        #expect(await router.open("scheme://router/demo2").code == .noRoute)
        #expect(await router.open("scheme://router/demo2Android").isSuccess)
        try router.relocate([try layer([])])
        #expect(await router.open("scheme://router/demo2").isSuccess)
    }

    @Test func `an origin need not be registered and chains are followed`() async throws {
        let router = try router()
        try router.relocate([
            try layer([
                ["routerType": 1, "orginPath": "scheme://wrong/x", "targetPath": "scheme://router/demo"],
                [
                    "routerType": 1, "orginPath": "scheme://router/demo",
                    "targetPath": "scheme://router/demo2",
                    "params": ["a": 1, "b": 1],
                ],
                [
                    "routerType": 1, "orginPath": "scheme://router/demo2",
                    "targetPath": "scheme://router/demo3?t=9",
                    "params": ["b": 2],
                ],
            ])
        ])
        let opening = await router.open("scheme://wrong/x?q=1", parameters: ["b": "caller", "c": "caller"])
        #expect(opening.route == "scheme://router/demo3")
        #expect(opening.hops.count == 3)
        #expect(opening.value?["params"] == ["q": "1", "t": "9", "a": 1, "b": 2, "c": "caller"])
    }

    @Test func `an entry that this build cannot serve is inactive and the origin opens as before`()
        async throws
    {
        let router = try router()
        let report = try router.relocate([
            try layer([
                ["routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/none"],
                ["routerType": 2, "path": "scheme://router/new", "className": "Unknown"],
                ["routerType": 3, "path": "scheme://router/never"],
                [
                    "routerType": 1, "orginPath": "scheme://router/demo1",
                    "targetPath": "scheme://router/demo2",
                ],
            ])
        ])
        #expect(report.entries == 4)
        #expect(report.inactive.map(\.index) == [0, 1, 2])
        #expect(report.inactive.allSatisfy { $0.layer == "patch" })
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo")
        #expect(await router.open("scheme://router/new").code == .noRoute)
        // Once the build has the target, the redirect works.
        try router.register("scheme://router/none") { _ in .opened() }
        #expect(await router.open("scheme://router/demo").route == "scheme://router/none")
        try router.register(.destination("Unknown") { _ in .opened() })
        #expect(await router.open("scheme://router/new").isSuccess)
    }

    @Test func `a redirect to nowhere stays inactive beside a fallback`() async throws {
        let router = try router()
        try router.register("scheme://") { _ in .opened("fallback") }
        try router.relocate([
            try layer([
                ["routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/none"]
            ])
        ])
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo")
    }

    static let additions: [(String, String, String, String)] = [
        ("a://x", "a://x?lang=en", "a://x", "a://x?lang=en"),
        ("a://x", "a://x?lang=en", "a://x?lang=de&n=1#top", "a://x?lang=en&n=1#top"),
        ("a://x", "A://x/?lang=en&v=", "a://x?n=%41", "A://x/?lang=en&v=&n=%41"),
        ("a://x", "a://x?lang=en", "a://x?lang=en", "a://x?lang=en"),
        ("a://s/**", "a://s/**?lang=en", "a://s/1/2?n=1", "a://s/1/2?lang=en&n=1"),
        ("a://p/:id", "a://p/:id?id=:id", "a://p/7", "a://p/7?id=7"),
        ("/p/:id", "/p/:id?v=2", "a://p/7", "a://p/7?v=2"),
        ("a://p/<path:rest>", "a://p/**?v=2", "a://p/7", "a://p/7?v=2"),
    ]

    @Test(arguments: additions)
    func `a redirect to its own origin adds to the query, once`(
        origin: String, target: String, url: String, opened: String
    ) async throws {
        let router = try recordingRouter([("a://x", "X"), ("a://s/<path:rest>", "S"), ("a://p/:id", "P")])
        let report = try router.relocate([
            try layer([
                [
                    "routerType": 1, "orginPath": .string(origin), "targetPath": .string(target),
                    "params": ["by": "map"],
                ]
            ])
        ])
        #expect(report.inactive.isEmpty)
        let opening = await router.open(url)
        #expect(opening.url == opened)
        #expect(opening.hops == (url == opened ? [] : [opened]))
        #expect(opening.isSuccess)
        // Also when the URL had it already.
        #expect(opening.value?["params"]?["by"] == "map")
        #expect(router.canOpen(url))
        // It is no redirect away from a page.
        #expect(router.check().findings.isEmpty)
    }

    @Test func `a redirect that adds is the last of a row, and is decided once`() async throws {
        let router = try recordingRouter([("a://x", "X"), ("a://y", "Y")])
        try router.relocate([
            try layer([
                ["routerType": 1, "orginPath": "a://old", "targetPath": "a://x"],
                [
                    "routerType": 1, "orginPath": "a://x", "targetPath": "a://x?lang=en",
                    "when": ["build": ">1"],
                ],
                ["routerType": 1, "orginPath": "a://x", "targetPath": "a://y"],
            ])
        ])
        #expect(await router.open("a://old").hops == ["a://x", "a://y"])
        router.updateRelocationContext { $0.build = "2" }
        #expect(await router.open("a://old").hops == ["a://x", "a://x?lang=en"])
        let resolution = router.resolve("a://x")
        #expect(resolution.route == "a://x")
        #expect(resolution.decisions.map(\.applies) == [true])
        // Nothing but parameters, which need not be texts.
        try router.relocate([
            try layer([
                [
                    "routerType": 1, "orginPath": "a://x", "targetPath": "a://x", "params": ["tags": [1, 2]],
                ]
            ])
        ])
        let tagged = await router.open("a://x?n=1", parameters: ["m": 2])
        #expect(tagged.hops.isEmpty)
        #expect(tagged.value?["params"] == ["tags": [1, 2], "n": "1", "m": 2])
        // What adds to a URL that no route has does not make one of it.
        try router.relocate([
            try layer([["routerType": 1, "orginPath": "a://none", "targetPath": "a://none?lang=en"]])
        ])
        #expect(await router.open("a://none").code == .noRoute)
        #expect(router.check().findings.map(\.kind) == [.deadRedirect])
    }

    @Test func `a map with one bad entry is refused and the old one stays`() async throws {
        let router = try router()
        try router.relocate([
            try layer([
                ["routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/demo1"]
            ])
        ])
        let refused: [([JSONValue], Code)] = [
            (
                [
                    ["routerType": 1, "orginPath": "scheme://a", "targetPath": "scheme://b"],
                    ["routerType": 1, "orginPath": "scheme://b", "targetPath": "scheme://a"],
                ], .cycle
            ),
            (
                [["routerType": 1, "orginPath": "scheme://services", "targetPath": "scheme://router/demo"]],
                .notAllowed
            ),
            (
                [
                    [
                        "routerType": 1, "orginPath": "scheme://router/x",
                        "targetPath": "scheme://services?protocol=P",
                    ]
                ],
                .notAllowed
            ),
            ([["routerType": 2, "path": "scheme://router/:", "className": "UserScreen"]], .badField),
            ([["routerType": 3, "path": "scheme://<x"]], .badField),
            (
                [
                    [
                        "routerType": 1, "orginPath": "scheme://a",
                        "targetPath": .string("scheme://" + String(repeating: "b", count: 2048)),
                    ]
                ], .tooLarge
            ),
        ]
        for (entries, code) in refused {
            let error = #expect(throws: RelocationError.self) { try router.relocate([try layer(entries)]) }
            #expect(error?.code == code)
            #expect(error?.layer == "patch")
        }
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo1")
    }

    static let elsewhere: [JSONValue] = [
        ["routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "other://b"],
        ["routerType": 1, "orginPath": "scheme://router/**", "targetPath": "other://**"],
        ["routerType": 2, "path": "other://b", "className": "UserScreen"],
    ]

    @Test(arguments: 0..<3)
    func `an entry in a scheme that no route has is inactive until one has it`(number: Int) async throws {
        let router = try router()
        let good: JSONValue = [
            "routerType": 1, "orginPath": "scheme://router/demo2", "targetPath": "scheme://router/demo3",
        ]
        let report = try router.relocate([try layer([Self.elsewhere[number], good])])
        #expect(report.inactive.map(\.index) == [0])
        #expect(report.inactive[0].reason.contains("other"))
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo")
        #expect(await router.open("scheme://router/demo2").route == "scheme://router/demo3")
        #expect(await router.open("other://b").code == .notAllowed)
        try router.register("other://*") { _ in .opened() }
        #expect(await router.open("other://b").isSuccess)
        let url = number == 0 ? "scheme://router/demo" : "scheme://router/b"
        if number < 2 { #expect(await router.open(url).route == "other://*") }
    }

    @Test(arguments: 0..<3)
    func `what an allow-list forbids is refused`(number: Int) throws {
        let configurations = [
            RouterConfiguration(allowedSchemes: ["scheme"]), RouterConfiguration(allowedHosts: ["router"]),
        ]
        for configuration in configurations {
            let router = try recordingRouter(`Open a URL`.theRouter, configuration: configuration)
            // A subtree of all hosts has none of its own.
            guard configuration.allowedHosts == nil || number != 1 else { continue }
            let error = #expect(throws: RelocationError.self) {
                try router.compile([try layer([Self.elsewhere[number]])])
            }
            #expect(error?.code == .notAllowed)
        }
    }

    @Test func `compiling changes nothing, and what is compiled fits routes that came later`() async throws {
        let router = try router()
        let compiled = try router.compile([
            try layer([
                ["routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/late"]
            ])
        ])
        #expect(router.layers.isEmpty)
        try router.register("scheme://router/late") { _ in .opened() }
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo")
        #expect(router.install(compiled).inactive.isEmpty)
        #expect(router.layers == compiled.layers)
        #expect(await router.open("scheme://router/demo").route == "scheme://router/late")
    }

    @Test func `a subtree moves with what lies below it`() async throws {
        let router = try recordingRouter([("a://new/tree/:id", "Item"), ("a://old/:id", "Old")])
        try router.relocate([
            try layer([["routerType": 1, "orginPath": "a://old/**", "targetPath": "a://new/tree/**"]])
        ])
        let opening = await router.open("a://old/7?x=1")
        #expect(opening.route == "a://new/tree/:id")
        #expect(opening.value?["params"] == ["id": "7", "x": "1"])
        #expect(await router.open("a://old/7/8").code == .noRoute)
    }

    @Test func `an added path takes the place of a registered one`() async throws {
        let router = try router()
        try router.relocate([
            try layer([["routerType": 2, "path": "scheme://router/demo", "className": "UserScreen"]])
        ])
        #expect(await router.open("scheme://router/demo").value?["name"] == "UserScreen")
        #expect(router.routes.count { $0.path == "scheme://router/demo" } == 1)
    }

    @Test func `events tell of each redirect`() async throws {
        let router = try router()
        try router.relocate([
            try layer([
                ["routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/demo1"]
            ])
        ])
        let events = Guarded<[RouterEvent]>([])
        router.observe { event in events.withLock { $0.append(event) } }
        _ = await router.open("scheme://router/demo", context: OpenContext(ref: "c-9"))
        let seen = events.withLock { $0 }
        #expect(seen.map(\.kind) == [.willOpen, .redirected, .opened])
        #expect(seen.allSatisfy { $0.ref == "c-9" && !$0.isError })
        #expect(seen[1].url == "scheme://router/demo1")
    }
}
