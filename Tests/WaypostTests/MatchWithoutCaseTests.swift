import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

@Suite(.patient) struct `Match without case` {
    static func table(_ patterns: [String], host: String? = nil) throws -> RouteTable {
        var syntax = PatternSyntax(host: host)
        syntax.ignoresCase = true
        return try RouteTableTests.table(patterns, syntax: syntax)
    }

    func router(
        _ configuration: RouterConfiguration = RouterConfiguration(ignoresCase: true, registersLinked: false)
    ) -> Router {
        Router(configuration: configuration)
    }

    static let rows: [(String, String, [String: CapturedValue]?)] = [
        ("app://Orders/:id", "app://orders/AbC", ["id": .text("AbC")]),
        ("app://orders/:id", "APP://ORDERS/AbC?x=Y", ["id": .text("AbC")]),
        ("app://orders/EDIT", "app://orders/%65dit", [:]), ("app://%4Frders", "app://oRDERS", [:]),
        ("app://orders", "app://order", nil), ("app://straße", "app://STRASSE", nil),
        ("app://ÄPFEL", "app://äpfel", nil), ("app://ÄPFEL", "app://Äpfel", [:]),
        ("app://v:N.HTML", "app://V7a.html", ["N": .text("7a")]),
        ("app://<from>-TO-<to>", "app://HgH-to-PeK", ["from": .text("HgH"), "to": .text("PeK")]),
        ("app://x/<in(Red|blue):c>", "app://X/Red", ["c": .text("Red")]),
        ("app://x/<in(Red|blue):c>", "app://x/red", nil),
        ("app://x/<bool:b>", "app://X/TRUE", ["b": .bool(true)]),
        ("app://Files/<path:p>", "app://files/A/b", ["p": .text("A/b")]),
        ("app://a-literal-longer-than-16-BYTES/x", "app://A-LITERAL-LONGER-THAN-16-bytes/X", [:]),
        ("https://example.com/Docs", "https://EXAMPLE.com:443/dOCS", [:]),
    ]

    @Test(arguments: rows)
    func `literals have no case, and what placeholders take keeps its own`(
        pattern: String, url: String, parameters: [String: CapturedValue]?
    ) throws {
        let table = try Self.table([pattern])
        let url = try RouteURL(url)
        let found = table.match(url).first?.parameters.map { ($0.name, $0.value) }
        #expect(found.map { Dictionary($0) { one, _ in one } } == parameters)
        #expect((table.firstMatch(url) != nil) == (parameters != nil))
        #expect(try (table.firstMatch(url: Array(url.text.utf8).span) != nil) == (parameters != nil))
    }

    @Test func `patterns that differ only by case are in conflict, and one takes the other away`() throws {
        var table = try Self.table(["App/Orders/:id", "app/x-:y"], host: "Phoenix.com")
        for same in ["app/orders/:ID", "APP/X-:z"] {
            let conflict = #expect(throws: RouteConflict.self) {
                try table.add(table.pattern(same), index: 9)
            }
            #expect(conflict?.pattern == same)
        }
        #expect(try RouteTableTests.matches(table, "s://PHOENIX.COM/app/ORDERS/7") == ["App/Orders/:id"])
        #expect(try table.remove(table.pattern("app/ORDERS/:ID")) == [])
        #expect(try table.remove(table.pattern("app/ORDERS/:id")) == [0])
        #expect(try table.remove(table.pattern("APP/x-:y")) == [1])
        #expect(table.isEmpty)
        #expect(table.storage.nodes[TableSeed.root]?.isEmpty == true)
    }

    @Test func `a check finds them, and the same routes with case are fine`() throws {
        let routes = ["app://Orders/:id", "app://orders/:number", "app://cart"].map {
            RouteDescription(path: $0, className: "C", priority: 0)
        }
        let report = Router.check(routes: routes, configuration: RouterConfiguration(ignoresCase: true))
        #expect(report.findings(.conflict).map(\.subject) == ["app://orders/:number"])
        #expect(Router.check(routes: routes).isClean)
        let router = router()
        try router.register("app://Orders/:id", name: "C") { _ in .opened() }
        let declared = router.check(declared: [RouteDescription(path: "app://orders/:id", className: "C")])
        #expect(declared.isClean, "\(declared.text)")
    }

    @Test func `an interceptor guards a route in every case`() async throws {
        let router = router()
        try router.register("app://Admin/Users/:id") { _ in .opened() }
        try router.register("app://shop") { _ in .opened() }
        try router.intercept("one", scope: .patterns(["app://admin/users/:x"])) { _ in .stop(reason: "one") }
        try router.intercept("tree", scope: .subtree("app://ADMIN")) { _ in .stop(reason: "tree") }
        #expect(await router.open("app://aDMIN/uSERS/7").code == .intercepted)
        #expect(await router.open("app://SHOP").code == .ok)
        #expect(router.check().findings(.deadScope).isEmpty)
        router.unregister("app://admin/users/:id")
        #expect(await router.open("app://Admin/Users/7").code == .noRoute)
    }

    @Test func `redirects take their origin in every case, and two such origins are refused`() async throws {
        let router = router()
        try router.register("app://new/:id") { request in .opened(request.parameters["id"]) }
        try router.relocate([
            RelocationLayer(
                name: "all",
                entries: [
                    .init(.replace(origin: "app://Old/:id", target: "app://new/:id")),
                    .init(.replace(origin: "app://Plain", target: "app://new/1")),
                    .init(
                        .replace(origin: "app://Tree/**", target: "app://new/**"), except: ["app://tree/NO"]),
                ])
        ])
        #expect(await router.open("app://oLD/AbC").value == "AbC")
        #expect(await router.open("app://PLAIN").value == "1")
        #expect(await router.open("app://TREE/xY").value == "xY")
        #expect(await router.open("app://tree/no").code == .noRoute)
        let twice = RelocationLayer(
            name: "all",
            entries: [
                .init(.replace(origin: "app://a", target: "app://new/1")),
                .init(.replace(origin: "app://A", target: "app://new/2")),
            ])
        let error = #expect(throws: RelocationError.self) { try router.relocate([twice]) }
        #expect(error?.index == 1)
        // The same text again takes the place of the first, as it does with case.
        let again = RelocationLayer(
            name: "all",
            entries: [
                .init(.replace(origin: "app://a", target: "app://new/1")),
                .init(.replace(origin: "app://a", target: "app://new/2")),
            ])
        try router.relocate([again])
        #expect(await router.open("app://A").value == "2")
        let circle = RelocationLayer(
            name: "all",
            entries: [
                .init(.replace(origin: "app://a", target: "app://B")),
                .init(.replace(origin: "app://b", target: "app://A")),
            ])
        #expect(throws: RelocationError.self) { try router.relocate([circle]) }
    }
}
