import Testing
import Waypost

@Suite struct `Snippets on coming from another router` {
    // snippet
    func openWithTheRoutersChain(_ router: Router) async -> Opening {
        await RouteBuilder.build("scheme://router/demo")
            .withInt(key: "intValue", value: 2)
            .withString(key: "stringValue", value: "sdsd")
            .withFloat(key: "floatValue", value: 3.1415)
            .withBool(key: "boolValue", value: false)
            .open(with: router)
    }
    // end snippet

    // snippet
    func requireLogin(
        _ router: Router, isLoggedIn: @escaping @Sendable () -> Bool
    ) throws -> RegistrationHandle {
        try router.intercept("login", scope: .allBut(["scheme://router/login"])) { _ in
            isLoggedIn() ? .proceed : .redirect(to: "scheme://router/login")
        }
    }
    // end snippet

    @Test func `TheRouter's URLs open`() async throws {
        // snippet
        let router = Router(
            configuration: RouterConfiguration(dialect: .theRouter, webPath: "scheme://webview/home"))
        let className = "TheRouter_Example.TheRouterController"
        try router.register("scheme://router/demo", name: className) { request in
            .opened(.object(request.parameters.merged))
        }
        try router.register("scheme://webview/home", name: "WebScreen", kind: .web) { request in
            .opened(request.parameters["url"])
        }

        let opening = await router.open(
            "scheme://router/demo?id=2&value=3&name=AKyS", parameters: ["descs": "added"])
        let web = await router.open("https://therouter.cn/")
        // end snippet
        #expect(opening.value == ["id": "2", "value": "3", "name": "AKyS", "descs": "added"])
        #expect(web.value == "https://therouter.cn/")
        let chain = await openWithTheRoutersChain(router)
        #expect(
            chain.value == ["intValue": 2, "stringValue": "sdsd", "floatValue": 3.1415, "boolValue": false])
        try router.register("scheme://router/login") { _ in .opened("login") }
        let handle = try requireLogin(router, isLoggedIn: { false })
        #expect(await router.open("scheme://router/demo").value == "login")
        handle.cancel()
        #expect(await router.open("scheme://router/demo").value == [:])
    }

    @Test func `ReerRouter's keys, redirects and interceptors work`() async throws {
        // snippet
        let router = Router(configuration: RouterConfiguration(dialect: .reerRouter))
        try router.register("user", name: "UserViewController") { request in
            .opened(request.parameters["name"])
        }
        try router.register("abc_action", kind: .action) { _ in .opened("executed") }

        let user = await router.open(
            "myapp://user?name=phoenix", parameters: ["name": "apple", "id": "123123"])
        let action = await router.open("myapp://abc_action")
        let fallback = await router.open(
            "myapp://unregisteredKey?route_fallback_url=myapp%3A%2F%2Fuser%3Fname%3Di_am_fallback")
        // end snippet
        #expect(user.value == "phoenix")
        #expect(action.value == "executed")
        #expect(fallback.outcome == .fellBack(to: "myapp://user?name=i_am_fallback"))
        // snippet
        try router.register(
            "preference", name: "PreferenceViewController",
            redirect: { request in
                request.parameters["some_key"] == "redirect" ? "myapp://new_preference" : nil
            }
        ) { _ in .opened("old") }
        try router.register("new_preference") { _ in .opened("new") }
        // end snippet
        #expect(await router.open("myapp://preference").value == "old")
        #expect(await router.open("myapp://preference?some_key=redirect").value == "new")
        // snippet
        try router.intercept(scope: .patterns(["user"])) { request in
            request.parameters["name"] == "google" ? .stop(reason: "not for google") : .proceed
        }
        // end snippet
        @Sendable func isUserLoggedIn() -> Bool { false }
        // snippet
        router.willOpen { open in
            if open.url.contains("google") {
                return .open(open.url + "&extra1=234244&extra2=afsfafasd")
            } else if open.url.contains("bytedance"), !isUserLoggedIn() {
                return .stop(reason: "intercepted by delegate")
            }
            return .proceed
        }
        // end snippet
        #expect(await router.open("myapp://none?x=bytedance").code == .intercepted)
        #expect(await router.open("myapp://new_preference?x=google").parameters["extra1"] == "234244")
        #expect(await router.open("myapp://user?name=google").code == .intercepted)
        #expect(await router.open("myapp://user?name=phoenix").isSuccess)
    }

    @Test func `KYRouter's patterns open`() async throws {
        // snippet
        let router = Router(configuration: RouterConfiguration(dialect: .kyRouter))
        try router.register("ky://search/:keyword") { request in .opened(request.parameters["keyword"]) }
        try router.register("ky://search/直播") { _ in .opened("live") }
        try router.register("ky://category/travel") { request in .opened(request.parameters["user_id"]) }
        try router.register("ky://") { _ in .opened("no other route took it") }

        let url = try RouteDescriptor.generateURL("ky://search/:keyword", ["Hangzhou"])
        let search = await router.open(url)
        let live = await router.open("ky://search/直播")
        let travel = await router.open("ky://category/travel/china", parameters: ["user_id": 1900])
        let other = await router.open("ky://none/at/all?has_travelled=0")
        // end snippet
        #expect(search.value == "Hangzhou")
        #expect(live.value == "live")
        #expect(travel.value == 1900)
        #expect(other.value == "no other route took it")
    }
}
