import Testing
import Waypost

@Suite struct `Snippets on dialects` {
    // snippet
    func mergeByDialect() async throws -> [JSONValue?] {
        var merged: [JSONValue?] = []
        for dialect in [Dialect.waypost, .theRouter, .kyRouter] {
            let router = Router(configuration: RouterConfiguration(dialect: dialect))
            try router.register("app://search/:word") { request in .opened(request.parameters["word"]) }
            merged.append(await router.open("app://search/path?word=query").value)
        }
        return merged
    }
    // end snippet

    // snippet
    func openWithReerRouterKeys() async throws -> [Opening] {
        let mode1 = Router(configuration: RouterConfiguration(dialect: .reerRouter))
        try mode1.register("user") { request in .opened(request.parameters["name"]) }

        let mode2 = Router(configuration: RouterConfiguration(dialect: .reerRouter(host: "phoenix.com")))
        try mode2.register("/user") { request in .opened(request.parameters["name"]) }

        return [
            await mode1.open("myapp://user?name=phoenix", parameters: ["name": "apple"]),
            await mode2.open("myapp://phoenix.com/user?name=phoenix"),
            await mode2.open("myapp://example.com/user?name=phoenix"),
        ]
    }
    // end snippet

    @Test func `each dialect merges in its way`() async throws {
        #expect(try await mergeByDialect() == ["path", ["query", "path"], "query"])
    }

    @Test func `ReerRouter's keys open in both modes`() async throws {
        let openings = try await openWithReerRouterKeys()
        #expect(openings.map(\.value) == ["phoenix", "phoenix", nil])
        #expect(openings[2].code == .noRoute)
    }

    @Test func `a dialect is made of its settings`() async throws {
        // snippet
        let ours: Dialect = {
            var dialect = Dialect.theRouter
            dialect.merge = .callerOverPathOverQuery
            return dialect
        }()
        // end snippet
        let router = Router(configuration: RouterConfiguration(dialect: ours))
        try router.register("app://items/*") { _ in .opened("star") }
        try router.register("app://items/:id") { request in .opened(request.parameters["id"]) }
        // It merges as Waypost does, and a star is an ordinary character as in TheRouter.
        #expect(await router.open("app://items/7?id=8").value == "7")
        #expect(await router.open("app://items/*").value == "star")
    }
}
