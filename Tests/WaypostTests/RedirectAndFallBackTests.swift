import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Redirect and fall back` {
    @Test func `ReerRouter's preference page redirects on a condition`() async throws {
        let router = try recordingRouter([("myapp://new_preference", "New")])
        try router.register(
            "myapp://preference", name: "Preference",
            redirect: { request in
                request.parameters["some_key"] == "redirect" ? "myapp://new_preference" : nil
            }
        ) { _ in .opened("old") }
        #expect(await router.open("myapp://preference?some_key=other").value == "old")
        let opening = await router.open("myapp://preference?some_key=redirect")
        #expect(opening.value?["name"] == "New")
        #expect(opening.hops == ["myapp://new_preference"])
        #expect(router.resolve("myapp://preference?some_key=redirect").route == "myapp://new_preference")
    }

    @Test func `conditional redirects in a circle end after eight hops`() async throws {
        let router = Router()
        try router.register("a://1", redirect: { _ in "a://2" }, handler: { _ in .opened() })
        try router.register("a://2", redirect: { _ in "a://1" }, handler: { _ in .opened() })
        let opening = await router.open("a://1")
        #expect(opening.code == .cycle)
        #expect(opening.hops == (0..<8).map { $0 % 2 == 0 ? "a://2" : "a://1" })
        #expect(router.resolve("a://1").error?.code == .cycle)
        #expect(router.resolve("a://1").hops.count == 8)
    }

    @Test(arguments: [8, 9])
    func `a chain of eight conditional redirects is followed, and of nine it is not`(count: Int) async throws
    {
        let router = Router()
        for number in 0..<count {
            try router.register(
                "a://\(number)", redirect: { _ in "a://\(number + 1)" }, handler: { _ in .opened() })
        }
        try router.register("a://\(count)") { _ in .opened("end") }
        let opening = await router.open("a://0")
        #expect(opening.code == (count == 8 ? .ok : .chain))
        #expect(opening.value == (count == 8 ? "end" : nil))
        #expect(opening.hops == (1...8).map { "a://\($0)" })
        #expect(router.resolve("a://0").error?.code == (count == 8 ? nil : .chain))
    }

    @Test func `ReerRouter's fallback URL is opened when no route matches the URL`() async throws {
        let router = try recordingRouter(
            [("user", "UserPage")], configuration: RouterConfiguration(dialect: .reerRouter))
        let events = Guarded<[RouterEvent.Kind]>([])
        router.observe { event in events.withLock { $0.append(event.kind) } }
        let url = "myapp://unregisteredKey?route_fallback_url=myapp%3A%2F%2Fuser%3Fname%3Di_am_fallback"
        let opening = await router.open(url)
        #expect(opening.outcome == .fellBack(to: "myapp://user?name=i_am_fallback"))
        #expect(opening.route == "user")
        #expect(opening.isSuccess)
        #expect(opening.value?["params"] == ["name": "i_am_fallback"])
        #expect(events.withLock { $0 } == [.willOpen, .fellBack])
        #expect(router.resolve(url).fellBack)
        #expect(!router.canOpen(url))
    }

    @Test func `the caller may name the fallback, and it is one hop only`() async throws {
        let router = try recordingRouter([("a://known", "Known")])
        let opening = await router.open("a://none", parameters: ["route_fallback_url": "a://known", "x": 1])
        #expect(opening.outcome == .fellBack(to: "a://known"))
        #expect(opening.value?["params"] == ["x": 1])
        let circle = await router.open("a://none", parameters: ["route_fallback_url": "a://none"])
        #expect(circle.code == .noRoute)
        let nested = await router.open(
            "a://none?route_fallback_url=a%3A%2F%2Fnone2%3Froute_fallback_url%3Da%253A%252F%252Fknown")
        #expect(nested.code == .noRoute)
    }

    static let forbidden = [
        "evil://x", "scheme://services?protocol=P&method=m", "https://example.com", "%00",
    ]

    @Test(arguments: forbidden)
    func `a fallback leads only where an open may`(target: String) async throws {
        let router = try recordingRouter([("a://known", "Known")])
        let warnings = Guarded<[String]>([])
        router.observe { event in
            if event.kind == .warned { warnings.withLock { $0.append(event.detail) } }
        }
        let opening = await router.open("a://none", parameters: ["route_fallback_url": .string(target)])
        #expect(opening.code == .noRoute)
        #expect(warnings.withLock { $0.count } == 1)
    }

    @Test func `a fallback pattern takes what nothing else takes, from any depth`() async throws {
        let router = try recordingRouter([("ky://", "Fallback"), ("ky://search/:keyword", "Search")])
        let opening = await router.open("ky://search/travel/china?has_travelled=0")
        #expect(opening.value?["name"] == "Fallback")
        #expect(opening.outcome == .opened)
        #expect(await router.open("ky://search/travel").value?["name"] == "Search")
    }

    @Test func `a web URL that no route matches goes to the web route`() async throws {
        let configuration = RouterConfiguration(webPath: "scheme://webview/home")
        let router = try recordingRouter(
            [("scheme://webview/home", "WebScreen"), ("https://own.example/page", "Own"), ("://", "All")],
            configuration: configuration)
        let opening = await router.open("https://therouter.cn/?a=1")
        #expect(opening.route == "scheme://webview/home")
        #expect(opening.url == "https://therouter.cn/?a=1")
        #expect(opening.value?["params"] == ["url": "https://therouter.cn/?a=1", "jumpType": "1", "a": "1"])
        #expect(await router.open("https://own.example/page").value?["name"] == "Own")
        #expect(await router.open("HTTP://example.com").value?["name"] == "WebScreen")
        #expect(router.resolve("https://therouter.cn/").route == "scheme://webview/home")
        #expect(router.canOpen("https://therouter.cn/"))
    }

    @Test(arguments: [Dialect.waypost, .theRouter, .reerRouter, .kyRouter])
    func `the web route gets the query of the web URL too`(dialect: Dialect) async throws {
        let router = try recordingRouter(
            [("app://web", "Web")], configuration: RouterConfiguration(dialect: dialect, webPath: "app://web")
        )
        let url = "https://example.com/p?id=7&url=https%3A%2F%2Fevil.example&jumpType=0"
        #expect(
            await router.open(url).value?["params"] == ["url": .string(url), "jumpType": "1", "id": "7"])
    }

    @Test func `ReerRouter's fallback is not for what was canceled or refused`() async throws {
        let router = Router(
            configuration: RouterConfiguration(dialect: .reerRouter, allowedSchemes: ["app"]))
        try router.register("canceled") { _ in throw CancellationError() }
        try router.register("late") { _ in
            throw Failure(.canceled, "the user went back")
        }
        try router.register("user") { _ in .opened("user") }
        let fallback = "?route_fallback_url=app%3A%2F%2Fuser"
        for key in ["canceled", "late"] {
            let opening = await router.open("app://\(key)\(fallback)")
            #expect(opening.code == .canceled && opening.route == key, "\(opening.detail)")
        }
        // Nor for a redirect to what is not allowed: no route has failed.
        try router.register("away", redirect: { _ in "evil://user" }) { _ in .opened() }
        let away = await router.open("app://away", parameters: ["route_fallback_url": "app://user"])
        #expect(away.code == .notAllowed && away.route == nil, "\(away.outcome)")
        // No route has failed here: the URL itself is not allowed.
        #expect(await router.open("evil://user\(fallback)").code == .notAllowed)
        #expect(await router.open("app://none\(fallback)").value == "user")
    }

    @Test func `ReerRouter's fallback is also for a page that fails`() async throws {
        struct Broken: Error {}
        for dialect in [Dialect.waypost, .reerRouter] {
            let router = Router(
                configuration: RouterConfiguration(dialect: dialect, registersLinked: false))
            try router.register("broken") { _ in throw Broken() }
            try router.register("typed") { request in .opened(.int(try request.parameters.value("id"))) }
            try router.register("user") { _ in .opened("user") }
            try router.intercept(scope: .patterns(["user"])) { request in
                request.parameters["who"] == "no" ? .stop(reason: "no") : .proceed
            }
            let warnings = Guarded<[String]>([])
            router.observe { event in
                if event.kind == .warned { warnings.withLock { $0.append(event.detail) } }
            }
            let fallsBack = dialect == .reerRouter
            for key in ["broken", "typed"] {
                let opening = await router.open("app://\(key)?route_fallback_url=app%3A%2F%2Fuser")
                #expect((opening.outcome == .fellBack(to: "app://user")) == fallsBack, "\(dialect) \(key)")
                #expect(opening.isSuccess == fallsBack)
            }
            // What failed is not lost.
            #expect(warnings.withLock { $0.count { $0.contains("Broken") } } == (fallsBack ? 1 : 0))
            // Stopped is not failed, and a fallback that fails leaves the first reason.
            let stopped = await router.open("app://user?who=no&route_fallback_url=app%3A%2F%2Fuser")
            #expect(stopped.code == .intercepted)
            let worse = await router.open("app://broken?route_fallback_url=app%3A%2F%2Ftyped")
            #expect(worse.code == .handlerFailed)
        }
    }
}
