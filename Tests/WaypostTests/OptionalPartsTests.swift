import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

@Suite(.patient) struct `Optional parts` {
    static let pattern = "s://orders/:id(/edit(/:tab))"

    @Test func `a pattern is one route for URLs with and without them`() throws {
        var table = try RouteTableTests.table([Self.pattern])
        #expect(table.count == 1)
        #expect(table.routes.map(\.pattern) == [Self.pattern])
        for (url, parameters) in [
            ("s://orders/7", ["id": .text("7")]), ("S://orders//7/edit/", ["id": .text("7")]),
            ("s://orders/7/edit/all?x=1", ["id": .text("7"), "tab": .text("all")]),
        ] as [(String, [String: CapturedValue])] {
            #expect(try RouteTableTests.matches(table, url) == [Self.pattern])
            #expect(try RouteTableTests.parameters(table, url) == parameters)
        }
        for url in ["s://orders", "s://orders/7/other", "s://orders/7/edit/all/more", "t://orders/7"] {
            #expect(try RouteTableTests.matches(table, url) == [])
        }
        for other in ["s://orders/:id", "s://orders/:id/edit/:tab", "s://orders/:id(/edit/:tab)"] {
            #expect(try table.remove(RoutePattern(other)) == [])
        }
        #expect(try table.remove(RoutePattern(Self.pattern)) == [0])
        #expect(table.isEmpty)
        #expect(table.storage.nodes[TableSeed.root]?.isEmpty == true)
        #expect(table.storage.nodes.count == 2)
    }

    @Test func `any of the patterns that it stands for may be in conflict, and then nothing changes`() throws
    {
        var table = try RouteTableTests.table([Self.pattern])
        for other in [
            "s://orders/:nr", "s://orders/:nr/edit", "s://orders/:nr/edit/:t", "s://orders(/:nr)",
            "s://orders/:nr/edit(/more/:x)",
        ] {
            for replacing in [false, true] {
                let conflict = #expect(throws: RouteConflict.self) {
                    try table.add(RoutePattern(other), index: 9, replacing: replacing)
                }
                #expect(conflict?.rival == Self.pattern)
            }
        }
        #expect(try RouteTableTests.matches(table, "s://orders") == [])
        #expect(try RouteTableTests.matches(table, "s://orders/7/edit/more/x") == [])
        #expect(try table.add(RoutePattern("s://orders/:nr(/edit(/:t))"), index: 9, replacing: true) == 0)
        #expect(table.count == 1)
        #expect(try RouteTableTests.parameters(table, "s://orders/7") == ["nr": .text("7")])
        try table.add(RoutePattern("s://orders/:nr(/edit(/:t))"), priority: 1, index: 10)
        #expect(table.count == 2)
        #expect(try table.remove(RoutePattern("s://orders/:nr(/edit(/:t))")).sorted() == [9, 10])
        #expect(table.isEmpty)
    }

    @Test func `each URL is found where the pattern that takes it stands in the order`() throws {
        let table = try RouteTableTests.table(["a/:x/b", "a/:x(/:y)", "a/lit(/:z)", "a(/**)", "a/*/*"])
        #expect(try RouteTableTests.matches(table, "a/lit") == ["a/lit(/:z)", "a/:x(/:y)", "a(/**)"])
        #expect(
            try RouteTableTests.matches(table, "a/v/b") == ["a/:x/b", "a/:x(/:y)", "a/*/*", "a(/**)"])
        #expect(try RouteTableTests.matches(table, "a") == ["a(/**)"])
    }

    @Test func `a parent that takes deeper URLs takes one once`() throws {
        var table = RouteTable()
        try table.add(RoutePattern("a(/:b(/:c))"), takesDeeper: true, index: 1)
        try table.add(RoutePattern("a/x"), takesDeeper: true, index: 2)
        let found = try table.match(RouteURL("a/x/y/z")).map { ($0.index, $0.parameters.map(\.name)) }
        #expect(found.map(\.0) == [1, 2])
        #expect(found.first?.1 == ["b", "c"])
    }

    @Test func `a router registers, opens, checks, exports and removes one route`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register(RouteKey(Self.pattern), name: "Order") { request in
            .opened(.array(["id", "tab"].map { request.parameters[$0] ?? .null }))
        }
        #expect(await router.open("s://orders/7").value == ["7", .null])
        #expect(await router.open("s://orders/7/edit/all").value == ["7", "all"])
        #expect(router.resolve("s://orders/7/edit").route == Self.pattern)
        #expect(router.routes.map(\.path) == [Self.pattern])
        #expect(router.check(declared: router.routes).isClean)
        #expect(Router.check(routes: router.routes).isClean)
        #expect(throws: RegistrationError.self) { try router.register("s://orders/:x") { _ in .opened() } }
        let miss = await router.open("s://ordres/7")
        #expect(miss.outcome == .notFound && miss.nearest == [Self.pattern])
        let guarded = try router.intercept("guard", scope: .patterns(["s://orders/:x(/edit(/:y))"])) { _ in
            .stop(reason: "no")
        }
        #expect(await router.open("s://orders/7/edit").code == .intercepted)
        guarded.cancel()
        try router.register("s://other") { _ in .opened() }
        router.unregister(RouteKey(Self.pattern))
        #expect(await router.open("s://orders/7").code == .noRoute)
        #expect(await router.open("s://orders/7/edit/all").code == .noRoute)
        #expect(router.routes.map(\.path) == ["s://other"])
    }

    @Test func `maps add and delete such routes, and their redirects refuse optional parts`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("s://cart", name: "Cart") { _ in .opened("cart") }
        try router.register("s://old(/:id)") { _ in .opened("old") }
        func layer(_ entry: RelocationEntry.Kind) -> [RelocationLayer] {
            [RelocationLayer(name: "all", entries: [RelocationEntry(entry)])]
        }
        try router.relocate(layer(.add(path: "s://basket(/:tab)", className: "Cart")))
        #expect(await router.open("s://basket").value == "cart")
        #expect(await router.open("s://basket/x").value == "cart")
        try router.relocate(layer(.delete(path: "s://old(/:id)")))
        #expect(await router.open("s://old").code == .noRoute)
        #expect(await router.open("s://old/7").code == .noRoute)
        for (origin, target) in [
            ("s://a(/:b)", "s://cart"), ("s://a(/b)", "s://cart"), ("s://a/:b", "s://cart(/:b)"),
            ("s://a", "s://cart(/b)"),
        ] {
            let error = #expect(throws: RelocationError.self) {
                try router.relocate(layer(.replace(origin: origin, target: target)))
            }
            #expect(error?.code == .badField)
            #expect(error?.detail.contains("optional parts") == true)
        }
    }

    @Test func `a URL is made of the longest pattern whose placeholders have values`() throws {
        let order = try RouteDescriptor("s://orders/:id(/pages/:page(/:tab))")
        #expect(order.names == ["id", "page", "tab"])
        #expect(try order.url(for: ["id": 7]) == "s://orders/7")
        #expect(try order.url(for: ["id": 7, "page": 2]) == "s://orders/7/pages/2")
        #expect(try order.url(for: ["id": 7, "tab": "x"]) == "s://orders/7?tab=x")
        #expect(try order.url(values: ["7", "2", "x"]) == "s://orders/7/pages/2/x")
        #expect(throws: RouteGenerationError.missing("id", pattern: order.pattern.text)) {
            try order.url(for: ["page": 2])
        }
        #expect(throws: RouteGenerationError.count(expected: 3, found: 4, pattern: order.pattern.text)) {
            try order.url(values: ["7", "2", "x", "y"])
        }
        #expect(try RouteDescriptor("s://orders(/new)").url(values: []) == "s://orders/new")
    }
}
