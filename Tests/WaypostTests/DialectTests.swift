import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

@Suite(.patient) struct `Speak a dialect` {
    @Test func `ReerRouter's mode 1 keys are host and path`() async throws {
        let router = try recordingRouter(
            [
                ("user", "UserViewController"), ("abc_action", "Action"), ("over/there", "Over"),
                ("/lead", "Lead"),
            ],
            configuration: RouterConfiguration(dialect: .reerRouter))
        let opening = await router.open(
            "myapp://user?name=phoenix", parameters: ["name": "apple", "id": "123123"])
        #expect(opening.route == "user")
        // The query beats the caller.
        #expect(opening.value?["params"] == ["name": "phoenix", "id": "123123"])
        #expect(await router.open("myapp://abc_action").isSuccess)
        #expect(await router.open("any://over/there/?x=1#nose").value?["name"] == "Over")
        #expect(await router.open("myapp://lead").isSuccess)
        #expect(await router.open("myapp://phoenix.com/user").code == .noRoute)
        let still = await router.open("myapp://user?name=google&route_no_animation=1")
        #expect(still.presentation.noAnimation == true)
    }

    @Test(arguments: [Dialect.reerRouter, .reerRouter(host: "user")])
    func `ReerRouter's keys open with any scheme, also beside a pattern that names one`(dialect: Dialect)
        async throws
    {
        let router = try recordingRouter(
            [("name", "Name"), ("user/name", "UserName")],
            configuration: RouterConfiguration(dialect: dialect))
        let before = await router.open("any://user/name").route
        try router.register("hd://detail/page") { _ in .opened() }
        #expect(await router.open("any://user/name").route == before)
        #expect(before != nil)
        #expect(await router.open("hd://user/name").route == before)
        #expect(await router.open("hd://detail/page").isSuccess)
        #expect(await router.open("any://detail/page").code == .noRoute)
        #expect(router.check().findings.isEmpty)
        // Without an authority it is no key.
        for url in ["tel:user", "javascript:user/name", "any:/user/name"] {
            #expect(await router.open(url).code == .notAllowed)
        }
        let listed = try recordingRouter(
            [("user/name", "Name"), ("name", "Name"), ("hd://detail", "Detail")],
            configuration: RouterConfiguration(dialect: dialect, allowedSchemes: ["hd"]))
        #expect(await listed.open("any://user/name").code == .notAllowed)
    }

    @Test func `ReerRouter's mode 2 keys are paths under one host, which is compared`() async throws {
        let router = try recordingRouter(
            [("user", "UserViewController"), ("/abc_action", "Action")],
            configuration: RouterConfiguration(dialect: .reerRouter(host: "phoenix.com")))
        #expect(await router.open("myapp://phoenix.com/user?name=phoenix").isSuccess)
        #expect(await router.open("myapp://phoenix.com/abc_action").isSuccess)
        #expect(await router.open("myapp://other.com/user").code == .noRoute)
        #expect(await router.open("myapp://user").code == .noRoute)
    }

    @Test func `TheRouter's star is literal and a key from both sides becomes an array`() async throws {
        let router = try recordingRouter(
            [("scheme://router/*", "Star"), ("scheme://router/demo/:id", "Demo")],
            configuration: RouterConfiguration(dialect: .theRouter))
        #expect(await router.open("scheme://router/x").code == .noRoute)
        #expect(await router.open("scheme://router/*").isSuccess)
        let opening = await router.open("scheme://router/demo/7?id=1&x=1", parameters: ["x": 2, "y": 3])
        #expect(opening.value?["params"] == ["id": ["1", "7"], "x": ["1", 2], "y": 3])
    }

    @Test func `KYRouter's parents take deeper URLs and Chinese URLs open`() async throws {
        let router = try recordingRouter(
            [
                ("ky://foo/bar", "Bar"), ("ky://category/travel", "Travel"), ("ky://search/直播", "Live"),
                ("ky://search/:keyword", "Search"), ("ky://detail", "Detail"), ("ky://", "Fallback"),
            ], configuration: RouterConfiguration(dialect: .kyRouter))
        #expect(await router.open("ky://foo/bar").value?["name"] == "Bar")
        #expect(await router.open("ky://foo/bar/deeper").value?["name"] == "Bar")
        #expect(await router.open("ky://search/直播").value?["name"] == "Live")
        #expect(await router.open("KY://search/%E7%9B%B4%E6%92%AD").value?["name"] == "Live")
        #expect(await router.open("ky://none/travel/china?has_travelled=0").value?["name"] == "Fallback")
        let search = await router.open("ky://search/Hangzhou?keyword=other", parameters: ["user_id": 1900])
        #expect(search.value?["params"] == ["keyword": "other", "user_id": 1900])
    }

    @Test func `a dialect has a name`() {
        for name in ["waypost", "theRouter", "reerRouter", "kyRouter"] {
            #expect(Dialect(name: name)?.name == name)
        }
        #expect(Dialect(name: "TheRouter") == nil)
    }

    @Test func `patterns without a scheme open with any while no route names one`() async throws {
        let router = try recordingRouter([("/user/:id", "User")])
        #expect(await router.open("app://user/7").isSuccess)
        #expect(await router.open("/user/7").isSuccess)
        try router.register("mine://x") { _ in .opened() }
        #expect(await router.open("app://user/7").code == .notAllowed)
        #expect(await router.open("mine://user/7").isSuccess)
        router.unregister("mine://x")
        #expect(await router.open("app://user/7").isSuccess)
    }
}
