import Testing
import Threading
import Waypost
import WaypostTools

/// What the tables of the three "Coming from" pages say, line by line.
@Suite struct `The pages on coming from another router` {
    private func router(_ dialect: Dialect, _ patterns: RouteKey..., webPath: RouteKey? = nil) throws
        -> Router
    {
        let router = Router(
            configuration: RouterConfiguration(dialect: dialect, webPath: webPath, registersLinked: false))
        for pattern in patterns {
            try router.register(pattern, name: "Class of \(pattern)") { request in
                .opened(["route": .string(pattern.rawValue), "params": .object(request.parameters.merged)])
            }
        }
        return router
    }

    private func entries(_ list: String) throws -> [RelocationEntry] {
        try RelocationEntry.list(JSONValue(parsing: list))
    }

    @Test func `TheRouter's calls have the counterparts that are named`() async throws {
        let router = try router(
            .theRouter, "scheme://router/demo", "scheme://router/demo1", "scheme://router/demo3")
        let opening = await router.open(
            "scheme://router/demo?id=2", parameters: ["a": 1], objects: ["model": 7])
        #expect(opening.parameters.merged == ["id": "2", "a": 1])
        #expect(opening.parameters.object("model", as: Int.self) == 7)
        try router.register([Route("scheme://router/demo9", to: "Class of scheme://router/demo")])
        #expect(await router.open("scheme://router/demo9").isSuccess)
        #expect(router.unregister("scheme://router/demo9"))
        try router.patch(
            entries(
                #"[{"routerType":1,"targetPath":"scheme://router/demo1","orginPath":"scheme://router/demo"}]"#
            ))
        try router.patch(
            entries(
                #"[{"routerType":2,"className":"Class of scheme://router/demo3","path":"scheme://router/demo33"}]"#
            ))
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo1")
        #expect(await router.open("scheme://router/demo33").isSuccess)
        try router.patch(
            entries(
                #"[{"routerType":4,"targetPath":"scheme://router/demo","orginPath":"scheme://router/demo"}]"#)
        )
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo")
        #expect(await router.open("scheme://router/demo33").isSuccess)
        let failures = EventList()
        router.onFailure { failures.add($0.detail) }
        #expect(await router.open("scheme://router/none").code == .noRoute)
        #expect(failures.all.count == 1)
        #expect(!router.canOpen("scheme://router/none"))
        let wrong = RouteDescription(path: "scheme://router/demo", className: "Other")
        #expect(router.check(declared: [wrong]).findings(.wrongClass).count == 1)
        #expect(router.export.text(.json).contains("\"priority\": 0"))
    }

    @Test func `what differs from TheRouter does so`() async throws {
        let router = try router(
            .theRouter, "scheme://router/:id", "scheme://router/demo", "https://own.example/page",
            "scheme://webview/home", webPath: "scheme://webview/home")
        func route(_ url: String) async -> String? { await router.open(url).route }
        #expect(await route("scheme://router/demo#top") == "scheme://router/demo")
        #expect(await router.open("scheme://router/./demo").code == .badField)
        #expect(await route("SCHEME://router/demo") == "scheme://router/demo")
        #expect(await route("scheme://router//demo/") == "scheme://router/demo")
        #expect(await router.open("scheme://router/7").parameters["id"] == "7")
        #expect(await router.open("scheme://router/%E4%B8%AD").parameters["id"] == "中")
        #expect(await route("https://own.example/page") == "https://own.example/page")
        let web = await router.open("https://other.example/?q=1")
        #expect(web.parameters.merged == ["url": "https://other.example/?q=1", "jumpType": "1", "q": "1"])
        #expect(throws: RegistrationError.self) {
            try router.register("scheme://router/demo") { _ in .opened() }
        }
        #expect(throws: RelocationError.self) {
            try entries(#"[{"routerType":5,"path":"scheme://router/x"}]"#)
        }
        #expect(router.routes.allSatisfy { $0.priority == 0 })
        #expect(await router.open("scheme://a?route_fallback_url=scheme%3A%2F%2Frouter%2Fdemo").isSuccess)
        try router.patch(
            entries(
                #"[{"routerType":1,"orginPath":"scheme://demo","targetPath":"scheme://router/demo","params":{"p":1}}]"#
            ))
        #expect(await router.open("scheme://demo9").code == .noRoute)
        #expect(
            await router.open("scheme://demo", parameters: ["c": 2]).parameters.merged == ["c": 2, "p": 1])
        let call = "scheme://router/demo?u=scheme://services?protocol=P"
        #expect(await route(call) == "scheme://router/demo")
        let both = await router.open("scheme://router/demo?k=1", parameters: ["k": 2])
        #expect(both.parameters["k"] == ["1", 2])
        let stack = NavigationStack()
        try router.register(.page("scheme://tab/a", in: stack))
        try router.register(.page("scheme://tab/b", in: stack))
        #expect(await router.open("scheme://tab/a?jumpType=5").isSuccess)
        #expect(await router.open("scheme://tab/b?jumpType=5").code == .badField)
        #expect(
            await router.open("scheme://router/demo", parameters: ["jumpType": 0]).presentation.jumpType
                == .modal)
    }

    @Test func `ReerRouter's calls and differences are as the page says`() async throws {
        let router = try router(.reerRouter, "user", "over/there")
        let presented = await router.open("myapp://user?jumpType=1", parameters: ["jumpType": 0])
        #expect(presented.presentation.jumpType == .modal)
        #expect(await router.open(RouteKey(rawValue: "user"), ["id": 1]).parameters["id"] == 1)
        try router.register(.destination("Preference") { _ in .opened("preference") })
        try router.register([Route("preference", to: "Preference")])
        #expect(await router.open("myapp://preference").value == "preference")
        #expect(await router.open("myapp://over//there/#nose").route == "over/there")
        #expect(await router.open("MYAPP://user").isSuccess)
        try router.register("action", kind: .action) { _ in .opened("ran") }
        #expect(await router.open("myapp://action", parameters: ["jumpType": 1]).value == "ran")
        let limited = Router(
            configuration: RouterConfiguration(
                dialect: .reerRouter, allowedSchemes: ["myapp"], registersLinked: false))
        try limited.register("user") { _ in .opened() }
        #expect(await limited.open("reer://user").code == .notAllowed)
        #expect(throws: RegistrationError.self) { try router.register("/user") { _ in .opened() } }
        let asked = EventList()
        try router.intercept { request in
            asked.add(request.route)
            return .proceed
        }
        _ = await router.open("myapp://unknown")
        #expect(asked.all.isEmpty)
        let circle = await router.open("myapp://no", parameters: ["route_fallback_url": "myapp://no"])
        #expect(circle.code == .noRoute)
        try router.register("broken") { _ in throw CancellationError() }
        try router.register("failing") { request in .opened(.int(try request.parameters.value("id"))) }
        let fallback = await router.open("myapp://failing?route_fallback_url=myapp%3A%2F%2Fuser")
        #expect(fallback.outcome == .fellBack(to: "myapp://user"))
        let host = try self.router(.reerRouter(host: "phoenix.com"), "/user")
        #expect(await host.open("myapp://phoenix.com/user").isSuccess)
        #expect(await host.open("myapp://other.com/user").code == .noRoute)
    }

    @Test func `KYRouter's calls and differences are as the page says`() async throws {
        let router = try router(.kyRouter, "ky://foo/bar", "ky://a/:id", "ky://a/9")
        try router.register("ky://object") { _ in .opened(object: 42) }
        #expect(await router.open("ky://object").object(as: Int.self) == 42)
        #expect(!router.canOpen("ky://unknown"))
        #expect(await router.open("ky://foo/bar/deeper").route == "ky://foo/bar")
        #expect(await router.open("ky://foo/x/bar").code == .noRoute)
        #expect(await router.open("KY://a//9/#top").route == "ky://a/9")
        #expect(await router.open("ky://a/:").route == "ky://a/:id")
        #expect(await router.open("ky://a/1?u=ky://b/c").parameters["u"] == "ky://b/c")
        #expect(await router.open("ky://a/_").parameters["id"] == "_")
        let once = await router.open("ky://a/%2541?block=%2541")
        #expect(once.parameters.merged == ["id": "%41", "block": "%41"])
        try router.register("ky://foo") { _ in .opened() }
        #expect(router.unregister("ky://foo"))
        #expect(await router.open("ky://foo/bar").route == "ky://foo/bar")
        #expect(await router.open("ky://none?route_fallback_url=ky%3A%2F%2Fa%2F9").isSuccess)
        #expect(throws: RegistrationError.self) { try router.register("ky://a/:number") { _ in .opened() } }
        #expect(
            try RouteDescriptor.generateURL("ky://s/:id/:idx?p=:page", ["a/b", "2", "x&y"])
                == "ky://s/a%2Fb/2?p=x%26y")
        #expect(throws: RouteGenerationError.self) { try RouteDescriptor.generateURL("ky://s/:id", []) }
    }
}

/// Texts that listeners saw.
private final class EventList: Sendable {
    private let texts = Guarded<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ text: String) { texts.withLock { $0.append(text) } }
}
