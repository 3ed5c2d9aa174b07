import Testing
import Threading
import Waypost

/// The examples of KYRouter's page, from its top to its end, as the rows of the page ComingFromKYRouter map them.
///
/// Further ones are in `ComingFromClaims`, what differs on purpose, and in `ComingFromSnippets`.
///
/// Only on iOS: CocoaPods, the `NSLog` and `appendLog:` of the examples, and `dispatch_after` to the main queue.
@Suite struct `The page of KYRouter` {
    private let router = Router(
        configuration: RouterConfiguration(dialect: .kyRouter, registersLinked: false))

    /// Row `generateURLWithPattern:parameters:`, for the two templates of the page.
    @Test(arguments: [
        ("qq://name/:name", "name", "halfrost", "qq://name/halfrost"),
        ("ky://search/:keyword", "keyword", "Hangzhou", "ky://search/Hangzhou"),
    ])
    func `a template makes the URL that it takes`(
        template: String, key: String, value: String, url: String
    ) async throws {
        try router.register(RouteKey(template)) { routerParameters in
            .opened(routerParameters.parameters[key])
        }
        let generated = try RouteDescriptor.generateURL(RouteKey(template), [value])
        #expect(generated == url)
        #expect(await router.open(generated).value == .string(value))
    }

    /// Rows `registerURLPattern:toHandler:`, `KYRouterParameterURL` and `KYRouterParameterUserInfo`.
    @Test func `a handler gets the URL, and an open without user info has none`() async throws {
        try router.register("ky://foo/bar") { routerParameters in
            #expect(routerParameters.parameters.caller.isEmpty)
            #expect(routerParameters.parameters.objects.isEmpty)
            return .opened(.string(routerParameters.url.text))
        }
        #expect(await router.open("ky://foo/bar").value == "ky://foo/bar")
    }

    /// Rows `openURL:withUserInfo:completion:` and `KYRouterParameterUserInfo`.
    @Test func `user info keeps its types`() async throws {
        try router.register("ky://category/travel") { routerParameters in
            .opened(.object(routerParameters.parameters.caller))
        }
        let opening = await router.open("ky://category/travel", parameters: ["user_id": 1900])
        #expect(opening.value == ["user_id": 1900])
    }

    /// "支持中文的URL", as it is written and as a browser sends it.
    @Test(arguments: ["ky://search/直播", "ky://search/%E7%9B%B4%E6%92%AD"])
    func `Chinese URLs open`(url: String) async throws {
        try router.register("ky://search/直播") { _ in .opened("live") }
        #expect(await router.open(url).value == "live")
    }

    /// Row `ky://` registered as a fallback.
    ///
    /// Where the page's other patterns are registered too, the nearest of them takes the URL before the fallback does,
    /// as in KYRouter.
    @Test func `what no one takes goes to the fallback of the scheme`() async throws {
        try router.register("ky://search/直播") { _ in .opened() }
        try router.register("ky://") { request in .opened(request.parameters["has_travelled"]) }
        #expect(await router.open("ky://search/travel/china?has_travelled=0").value == "0")
        #expect(await router.open("ky://search/travel/china?has_travelled=0").route == "ky://")
        #expect(await router.open("qq://search/travel/china").code != .ok)
        try router.register("ky://search/:keyword") { _ in .opened() }
        #expect(
            await router.open("ky://search/travel/china?has_travelled=0").route == "ky://search/:keyword")
    }

    /// Row `KYRouterParameterCompletion`: what the caller does behind `await` is its completion block.
    @Test func `an open ends when its handler has ended`() async throws {
        let order = Guarded<[String]>([])
        let (pushed, push) = AsyncStream.makeStream(of: Void.self)
        try router.register("ky://detail") { _ in
            order.withLock { $0.append("匹配到了 url, 一会会执行 Completion Block") }
            // The page waits a moment here, as for a view controller that is pushed.
            Task { push.yield() }
            for await _ in pushed { break }
            return .opened()
        }
        #expect(await router.open("ky://detail").isSuccess)
        order.withLock { $0.append("Open 结束,我是 Completion Block") }
        #expect(
            order.withLock { $0 } == ["匹配到了 url, 一会会执行 Completion Block", "Open 结束,我是 Completion Block"])
    }

    /// "可以统一管理URL": the page writes the scheme in both cases; KYRouter itself takes only that of the pattern.
    @Test(arguments: ["ky://beauty/123", "KY://beauty/123"])
    func `a pattern with a placeholder opens`(url: String) async throws {
        try router.register("ky://beauty/:id") { request in
            .opened(JSONValue(try request.parameters.value("id", as: Int.self)))
        }
        #expect(await router.open(url).value == 123)
    }
}
