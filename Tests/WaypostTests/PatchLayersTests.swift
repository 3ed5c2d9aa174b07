import Testing

@testable import Waypost

@Suite struct `Patch layers` {
    func redirect(_ origin: String, _ target: String) -> RelocationEntry {
        RelocationEntry(.replace(origin: "scheme://router/\(origin)", target: "scheme://router/\(target)"))
    }

    func reset(_ origin: String) -> RelocationEntry {
        RelocationEntry(.reset(origin: "scheme://router/\(origin)", target: "scheme://router/\(origin)"))
    }

    func route(_ router: Router, _ path: String) -> String? {
        router.resolve("scheme://router/\(path)").route.map { String($0.dropFirst("scheme://router/".count)) }
    }

    @Test func `a second call adds to the first, and a later entry wins`() throws {
        let router = try recordingRouter(`Open a URL`.theRouter)
        try router.patch([redirect("demo", "demo1")])
        try router.patch([redirect("demo2", "demo3")])
        #expect(route(router, "demo") == "demo1")
        #expect(route(router, "demo2") == "demo3")
        try router.patch([reset("demo")])
        #expect(route(router, "demo") == "demo")
        #expect(route(router, "demo2") == "demo3")
        try router.patch([redirect("demo2", "demo1")], layer: "over")
        #expect(route(router, "demo2") == "demo1")
        #expect(router.layers.map(\.name) == ["program", "over"])
    }

    @Test func `an entry says on what it depends, and what it leaves alone`() {
        let entry = RelocationEntry(
            .replace(origin: "app://a/**", target: "app://b"), except: ["app://a/x", "app://a/y"],
            when: ["labels": ["region": "us"]])
        #expect(entry.text.contains("when") && entry.text.contains(", except app://a/x, app://a/y"))
    }

    /// Origins that take the same URLs, each written in several ways.
    static let spellings = [
        ["app://orders/old", "APP://orders/old", "App://orders/%6Fld"],
        ["https://example.com/x", "HTTPS://EXAMPLE.com/x", "https://Example.com/x"],
        ["app://orders/:id", "APP://orders/:number"], ["app://orders/**", "APP://orders/**"],
    ]

    @Test(arguments: spellings)
    func `entries are about the same origin however it is written, and others stay others`(
        _ origins: [String]
    )
        throws
    {
        func entry(_ origin: String, _ target: String = "app://a") -> RelocationEntry {
            RelocationEntry(.replace(origin: origin, target: target))
        }
        for origin in origins {
            let changes = RelocationChanges(from: [entry(origins[0])], to: [entry(origin, "app://b")])
            #expect(changes.changed == 1 && changes.added == 0 && changes.removed == 0, "\(origin)")
            var layer = RelocationLayer(name: "patch", entries: [entry(origins[0])])
            layer.patch([entry(origin, "app://b")])
            #expect(layer.entries == [entry(origin, "app://b")], "\(origin)")
            #expect(RelocationEntry.merged([entry(origins[0])], under: [entry(origin)]) == [entry(origin)])
        }
        let others = [
            "app://orders", "app://Orders/old", "app://orders/old/x", "apps://orders/old", "/orders/old", "",
            "%",
            "app://orders/:id/x", "app://orders/*",
        ]
        let all = others + Self.spellings.map { $0[0] }
        #expect(Set(all.map { entry($0).subjectKey }).count == all.count)
    }

    @Test func `a patch that is refused changes nothing`() throws {
        let router = try recordingRouter(`Open a URL`.theRouter)
        try router.patch([redirect("demo", "demo1")])
        #expect(throws: RelocationError.self) { try router.patch([redirect("demo1", "demo")]) }
        let many = (0..<2000).map { redirect("many\($0)", "demo1") }
        #expect(throws: RelocationError.self) { try router.patch(many) }
        #expect(router.layers.map(\.entries.count) == [1])
    }

    @Test func `what is delivered lies over the program's own, and neither takes the other away`() throws {
        let router = try recordingRouter(`Open a URL`.theRouter)
        try router.patch([redirect("demo", "demo1"), redirect("demo2", "demo3")])
        let map = RelocationLayer(name: "agent", entries: [redirect("demo", "demo3")])
        router.install(try router.compile(delivered: [map]))
        #expect(route(router, "demo") == "demo3")
        #expect(route(router, "demo2") == "demo3")
        try router.relocate([RelocationLayer(name: "mine", entries: [redirect("demo2", "demo1")])])
        #expect(route(router, "demo") == "demo3")
        #expect(route(router, "demo2") == "demo1")
        #expect(router.layers.map(\.name) == ["mine", "agent"])
        // Together they would lead in a circle.
        #expect(throws: RelocationError.self) { try router.patch([redirect("demo3", "demo")]) }
        router.install(try router.compile(delivered: []))
        #expect(route(router, "demo") == "demo")
    }

    @Test func `a map that was checked beside other layers is checked again when it is installed`() throws {
        let router = try recordingRouter(`Open a URL`.theRouter)
        let map = RelocationLayer(name: "agent", entries: [redirect("demo", "demo1")])
        let compiled = try router.compile(delivered: [map])
        try router.patch([redirect("demo2", "demo3")])
        #expect(router.install(compiled).entries == 2)
        #expect(route(router, "demo2") == "demo3")
        let circle = try router.compile(delivered: [map])
        try router.relocate([])
        router.install(try router.compile(delivered: []))
        try router.patch([redirect("demo1", "demo")])
        let report = router.install(circle)
        #expect(report.inactive.map(\.layer) == ["agent"])
        #expect(route(router, "demo1") == "demo")
    }
}
