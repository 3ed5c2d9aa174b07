import Testing
import Threading

@testable import Waypost

@Suite struct `Redirect and fall back` {
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
        #expect(await router.open("a://1").code == .cycle)
        #expect(router.resolve("a://1").error?.code == .cycle)
    }

    @Test func `ReerRouter's fallback URL is opened when no route takes the URL`() async throws {
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

    @Test func `a web URL that no route takes goes to the web route`() async throws {
        let configuration = RouterConfiguration(webPath: "scheme://webview/home")
        let router = try recordingRouter(
            [("scheme://webview/home", "WebScreen"), ("https://own.example/page", "Own"), ("://", "All")],
            configuration: configuration)
        let opening = await router.open("https://therouter.cn/?a=1")
        #expect(opening.route == "scheme://webview/home")
        #expect(opening.url == "https://therouter.cn/?a=1")
        #expect(opening.value?["params"] == ["url": "https://therouter.cn/?a=1", "jumpType": "1"])
        #expect(await router.open("https://own.example/page").value?["name"] == "Own")
        #expect(await router.open("HTTP://example.com").value?["name"] == "WebScreen")
        #expect(router.resolve("https://therouter.cn/").route == "scheme://webview/home")
        #expect(router.canOpen("https://therouter.cn/"))
    }
}
