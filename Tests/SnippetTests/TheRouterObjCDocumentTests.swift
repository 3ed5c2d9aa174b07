import Testing
import Threading
import Waypost
import WaypostTools

/// The examples of the article on TheRouter in Objective-C, from its top to its end, as the table "TheRouter in
/// Objective-C" of the page ComingFromTheRouter maps them.
///
/// Only on iOS:
/// - CocoaPods, `TheRouterAnnotation.plist` and the Xcode target that runs `scan.py`
/// - `TheRouterStoryboardController`: pages of a Storyboard
/// - the navigation controller that is found for push, present and presentInNavigation
@Suite struct `The article on TheRouter in Objective-C` {
    /// 2.3: a parameter becomes the property of its name.
    private struct TestViewController: RoutablePage, Decodable, Sendable {
        var title: String?

        func opened() -> JSONValue? { title.map { .string($0) } }
        var object: (any Sendable)? { self }
    }

    private static let configuration = RouterConfiguration(dialect: .theRouter, registersLinked: false)
    private static let host = "hd://com.therouter.test"

    /// Step 4: the host with its page.
    private func application() throws -> Router {
        let router = Router(configuration: Self.configuration)
        try router.group(RouteKey(Self.host)) { group in
            try group.register([Route("test/vc", to: TestViewController.self, name: "TestViewController")])
        }
        return router
    }

    /// 2.2: what is kept of a route are its handler, placeholders, interceptor and redirect.
    @Test func `a route has a handler, an interceptor and a redirect`() async throws {
        let router = Router(configuration: Self.configuration)
        try router.register("test://abc.com/login") { _ in .opened("login") }
        try router.register("test://abc.com/login/:user") { request in .opened(request.parameters["user"]) }
        #expect(await router.open("test://abc.com/login").value == "login")
        #expect(await router.open("test://abc.com/login/kj").value == "kj")
        let handle = try router.intercept(scope: .patterns(["test://abc.com/login"])) { _ in
            .stop(reason: "intercepted")
        }
        #expect(await router.open("test://abc.com/login").code == .intercepted)
        #expect(await router.open("test://abc.com/login/kj").isSuccess)
        handle.cancel()
        try router.patch([
            RelocationEntry(.replace(origin: "test://abc.com/login", target: "test://abc.com/login/kj"))
        ])
        #expect(await router.open("test://abc.com/login").value == "kj")
    }

    /// Rows `registPathAnnotationsWithHost:` and `TheRouterController(path, class)`.
    @Test func `paths of annotations follow the host`() async throws {
        let router = try application()
        #expect(router.routes.map(\.path) == ["hd://com.therouter.test/test/vc"])
        #expect(router.routes.map(\.className) == ["TestViewController"])
        #expect(await router.open("hd://com.therouter.test/test/vc?title=123").value == "123")
    }

    /// Rows `TheRouterSelector` and `openVCPath:cmd:withParams:hanlder:`.
    @Test func `a method of a service opens a page and returns it`() async throws {
        let router = try application()
        try router.group(RouteKey(Self.host)) { group in
            try group.register("test/jump", name: "TestService", kind: .action) { [weak router] _ in
                let vc = await router?.open(.testVc, ["title": "123", "jumpType": 1])
                guard let vc, let page = vc.object(as: TestViewController.self) else { return .pass }
                return .opened(["tag": "opened", "result": vc.value ?? .null], object: page)
            }
        }
        let opening = await router.open("hd://com.therouter.test/test/jump")
        // What the caller gets synchronously, and what it gets by `openCompleteHandler(tag, result)`.
        #expect(opening.object(as: TestViewController.self)?.title == "123")
        #expect(opening.value == ["tag": "opened", "result": "123"])
    }

    /// Row `TheRouter_Mappings.h`.
    @Test func `registered paths become constants`() throws {
        let text = try application().export.text(.swift)
        #expect(text.contains(#": RouteKey = "hd://com.therouter.test/test/vc""#), "\(text)")
    }

    /// Row `registInterceptorForURLString:`.
    @Test(arguments: [
        ("hd://com.therouter.test", true), ("hd://com.therouter.test/xxx", true),
        ("hd://com.therouter.test/test/vc", true), ("hd://com.therouter.tests", false),
    ])
    func `an interceptor with a wildcard sees the host and what is below it`(url: String, isSeen: Bool)
        async throws
    {
        let router = try application()
        try router.register([
            Route("hd://com.therouter.test") { _ in .opened() },
            Route("hd://com.therouter.test/xxx") { _ in .opened() },
            Route("hd://com.therouter.tests") { _ in .opened() },
        ])
        let seen = Guarded<[String]>([])
        try router.intercept(scope: .subtree("hd://com.therouter.test/*")) { request in
            seen.withLock { $0.append(request.url.text) }
            return .proceed
        }
        #expect(await router.open(url).isSuccess)
        #expect(seen.withLock { $0 } == (isSeen ? [url] : []))
    }

    /// Row `continueHandle`.
    @Test func `an interceptor holds an open until its own work is done`() async throws {
        let router = try application()
        let isDone = Guarded(false)
        let gate = OpenGate("own work")
        try router.intercept(scope: .subtree("hd://com.therouter.test/*")) { _ in
            isDone.withLock { $0 } ? .proceed : .wait(for: gate, atMost: .seconds(60))
        }
        let (waiting, wait) = AsyncStream.makeStream(of: String.self)
        router.observe { if $0.kind == .waiting { wait.yield($0.url) } }
        async let opening = router.open("hd://com.therouter.test/test/vc")
        #expect(await waiting.first { _ in true } == "hd://com.therouter.test/test/vc")
        isDone.withLock { $0 = true }
        gate.open()
        #expect(await opening.isSuccess)
    }

    /// The table of what differs from TheRouter in Objective-C.
    @Test func `a placeholder is not its parent, and a redirect is not its subtree`() async throws {
        let router = Router(configuration: Self.configuration)
        try router.register("hd://test.com/a/:b") { request in .opened(request.parameters["b"]) }
        try router.register("hd://test.com/a/c/d") { _ in .opened("literal") }
        try router.register("hd://test.com/:a/c/e") { _ in .opened("the next candidate") }
        try router.register("hd://test.com/o(/:p)") { _ in .opened("optional") }
        #expect(await router.open("hd://test.com/a").code == .noRoute)
        #expect(await router.open("hd://test.com/a/c").value == "c")
        #expect(await router.open("hd://test.com/a/c/e").value == "the next candidate")
        #expect(await router.open("hd://test.com/o").value == "optional")
        #expect(await router.open("hd://test.com/o/1").value == "optional")
        try router.patch([RelocationEntry(.replace(origin: "hd://test.com/a", target: "hd://test.com/o"))])
        #expect(await router.open("hd://test.com/a").value == "optional")
        #expect(await router.open("hd://test.com/a/c/d").value == "literal")
    }

    /// Row `registRedirect:to:`.
    @Test func `an old path opens the page of the new one`() async throws {
        let router = Router(configuration: Self.configuration)
        try router.register("hd://test.com/test") { _ in .opened("old") }
        try router.register("hd://test.com/test/vc") { _ in .opened("vc") }
        try router.patch([
            RelocationEntry(.replace(origin: "hd://test.com/test", target: "hd://test.com/test/vc"))
        ])
        #expect(await router.open("hd://test.com/test").value == "vc")
        #expect(await router.open("hd://test.com/test/vc").value == "vc")
    }
}

extension RouteKey {
    /// `kRouterPathTestVcVC`.
    fileprivate static let testVc: RouteKey = "hd://com.therouter.test/test/vc"
}
