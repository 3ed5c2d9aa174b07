import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

@Suite(.patient) struct `Group routes` {
    private static func answer(_ request: RouteRequest) -> RouteAnswer {
        .opened(["metadata": .object(request.metadata), "params": .object(request.parameters.merged)])
    }

    private static let joined: [(prefix: String, pattern: String, whole: String)] = [
        ("a://x", "y", "a://x/y"), ("a://x/", "/y", "a://x/y"), ("a://", "y", "a://y"),
        ("a://x", "", "a://x"),
        ("a://x", "/", "a://x"), ("/x", ":id", "/x/:id"), ("a://x", "y//z", "a://x/y//z"),
    ]

    @Test(arguments: joined)
    func `a pattern follows that of its group`(prefix: String, pattern: String, whole: String) throws {
        let group = RouteGroup(RouteKey(prefix), [:], [:])
        try group.register(RouteKey(pattern)) { _ in .opened() }
        #expect(group.steps.flatMap(\.routes).map(\.pattern) == [RouteKey(whole)])
    }

    @Test func `the inner value counts, of metadata and of defaults`() async throws {
        let router = Router()
        try router.group("a://x", metadata: ["auth": true, "title": "X"], defaults: ["page": 1, "n": 0]) {
            x in
            try x.register("plain") { Self.answer($0) }
            try x.group("y", metadata: ["title": "Y"], defaults: ["n": 1]) { y in
                try y.register(":n/z", metadata: ["title": "Z"]) { Self.answer($0) }
                try y.register("w") { Self.answer($0) }
            }
        }
        #expect(
            await router.open("a://x/plain?page=5").value
                == ["metadata": ["auth": true, "title": "X"], "params": ["page": "5", "n": 0]])
        #expect(
            await router.open("a://x/y/7/z").value
                == ["metadata": ["auth": true, "title": "Z"], "params": ["page": 1, "n": "7"]])
        let opening = await router.open("a://x/y/w", parameters: ["n": .null, "page": 9])
        #expect(
            opening.value == ["metadata": ["auth": true, "title": "Y"], "params": ["page": 9, "n": 1]])
        #expect(opening.metadata == ["auth": true, "title": "Y"])
        #expect(router.routes.first { $0.path == "a://x/y/w" }?.json["defaults"] == ["page": 1, "n": 1])
    }

    @Test(arguments: MergeRule.allCases)
    func `a default counts only when no one else has the key, whatever the rule`(rule: MergeRule) async throws
    {
        var dialect = Dialect.waypost
        dialect.merge = rule
        let router = Router(configuration: RouterConfiguration(dialect: dialect))
        try router.register("a://x/:p", defaults: ["p": 0, "q": 0, "c": 0, "d": 0]) { Self.answer($0) }
        let opening = await router.open("a://x/1?q=1", parameters: ["c": "1"])
        #expect(opening.value?["params"] == ["p": "1", "q": "1", "c": "1", "d": 0])
    }

    @Test func `its interceptors guard all in it, added paths too, and nothing else`() async throws {
        let router = Router()
        try router.register("a://free", name: "Free") { _ in .opened() }
        let handle = try router.group("a://x") { x in
            try x.register("one", name: "One") { _ in .opened() }
            x.intercept("outer") { _ in .proceed }
            try x.group("y") { y in
                y.intercept("inner", priority: 1) { _ in .stop(reason: "inner") }
                try y.register("two", name: "Two") { _ in .opened() }
            }
        }
        let entry = RelocationEntry(.add(path: "a://back-door", className: "Two"))
        try router.relocate([RelocationLayer(name: "agent", entries: [entry])])
        #expect(await router.open("a://free").isSuccess)
        #expect(await router.open("a://x/one").isSuccess)
        for url in ["a://x/y/two", "a://back-door"] {
            #expect(await router.open(url).outcome == .intercepted(by: "inner", reason: "inner"))
        }
        handle.cancel()
        #expect(await router.open("a://x/one").code == .noRoute)
        #expect(router.state.interceptors.isEmpty)
        #expect(await router.open("a://free").isSuccess)
    }

    @Test func `one bad route keeps all out`() async throws {
        let router = Router()
        try router.register("a://x/taken") { _ in .opened() }
        for bad in ["taken", "b://y", "%zz/:", ":id/:id"] {
            #expect(throws: RegistrationError.self, "\(bad)") {
                try router.group("a://x") { x in
                    x.intercept { _ in .stop(reason: "no") }
                    try x.register("good") { _ in .opened() }
                    try x.register(RouteKey(bad)) { _ in .opened() }
                }
            }
            #expect(await router.open("a://x/good").code == .noRoute)
            #expect(router.state.interceptors.isEmpty)
        }
    }

    struct Order: TypedRoute {
        static let key: RouteKey = "q://x/orders/:id"
        var id: Int
    }

    struct OrderLike: TypedRoute {
        static let key: RouteKey = "/orders/:id"
        var id: Int
    }

    @Test func `a typed route leads to where it is registered, or it is refused`() async throws {
        let router = Router()
        for prefix in ["q://x", "q://x/orders", "q://"] {
            let handle = try router.group(RouteKey(prefix)) { group in
                try group.register(Order.self) { order, _ in .opened(.int(Int64(order.id))) }
            }
            #expect(await router.open(Order(id: 7)).value == 7)
            #expect(await router.open(try Order(id: 8).url).value == 8)
            handle.cancel()
        }
        for prefix in ["q://y", "q://x/orders/:id/more", "q://x/ord"] {
            #expect(throws: RegistrationError.self, "\(prefix)") {
                try router.group(RouteKey(prefix)) { try $0.register(Order.self) { _, _ in .opened() } }
            }
        }
        let error = #expect(throws: RegistrationError.self) {
            try router.group("q://x") { try $0.register(OrderLike.self) { _, _ in .opened() } }
        }
        #expect("\(try #require(error))".contains("OrderLike are those of /orders/:id"))
        var moved = Route(Order.self) { _, _ in .opened() }
        moved.pattern = "q://elsewhere/:id"
        #expect(throws: RegistrationError.self) { try router.register([moved]) }
        #expect(router.routes.isEmpty)
    }

    @Test func `a key that is registered in a group leads there`() async throws {
        let router = Router()
        let (item, list): (RouteKey, RouteKey) = ("items/:id", "/list")
        let handle = try router.group("k://shop") { shop in
            try shop.register(item) { .opened($0.parameters["id"]) }
            try shop.group("deep") { try $0.register(list) { _ in .opened("list") } }
        }
        #expect(await router.open(item, ["id": 7]).value == 7)
        #expect(try router.url(for: item, ["id": 7, "tab": "a"]) == "k://shop/items/7?tab=a")
        #expect(router.canOpen(item, ["id": 7]) && router.canOpen(list))
        #expect(try router.resolve(list).route == "k://shop/deep/list")

        // Of two that have the same key, neither is meant.
        let second = try router.group("k://other") { try $0.register(item) { _ in .opened("other") } }
        let error = #expect(throws: RouteGenerationError.self) { try router.url(for: item, ["id": 7]) }
        #expect("\(try #require(error))".contains("k://other/items/:id and of k://shop/items/:id"))
        second.cancel()
        #expect(await router.open(item, ["id": 7]).value == 7)
        handle.cancel()
        #expect(await router.open(item, ["id": 7]).code == .noRoute)
    }

    @Test func `a scope by metadata sees what has them, and check names one that nothing has`() async throws {
        let router = Router()
        try router.register("a://open") { _ in .opened() }
        try router.register("a://any", name: "Any", metadata: ["auth": "any"]) { _ in .opened() }
        try router.register("a://admin", metadata: ["auth": "admin"]) { _ in .opened() }
        try router.intercept("some", scope: .metadata("auth")) { _ in .rewrite(["seen": true]) }
        try router.intercept("admin", scope: .metadata("auth", "admin")) { _ in .stop(reason: "no") }
        #expect(router.check().findings.filter { $0.kind == .deadScope }.isEmpty)
        let entry = RelocationEntry(.add(path: "a://back-door", className: "Any"))
        try router.relocate([RelocationLayer(name: "agent", entries: [entry])])
        #expect(await router.open("a://open").parameters["seen"] == nil)
        #expect(await router.open("a://any").parameters["seen"] == true)
        #expect(await router.open("a://back-door").parameters["seen"] == true)
        #expect(await router.open("a://admin").code == .intercepted)
        try router.intercept("dead", scope: .metadata("auth", "nobody")) { _ in .proceed }
        let findings = router.check().findings.filter { $0.kind == .deadScope }
        #expect(findings.count == 1 && findings.first?.detail.contains("auth = \"nobody\"") ?? false)
    }
}
