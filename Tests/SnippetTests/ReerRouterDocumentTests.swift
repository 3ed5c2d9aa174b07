import Testing
import Threading
import Waypost

/// The examples of ReerRouter's wiki, from its top to its end, as the rows of the page ComingFromReerRouter map them.
///
/// In `ComingFromSnippets` word for word: the delegate's `willOpenURL` (5), the redirect of `PreferenceViewController` (7).
/// In `ComingFromClaims`: what differs on purpose. At the end: the macros, with the trait `Macros`.
///
/// Only on iOS:
/// - CocoaPods, and the compiler's flag `SymbolLinkageMarkers`, which Swift 6.3 does not need
/// - `embedIn: UINavigationController.self`, and the transition of view controllers itself
@Suite struct `The wiki of ReerRouter` {
    private static let chat: RouteKey = "chat"
    private static let testKey: RouteKey = "testKey"
    private static let userPage: RouteKey = "user"

    /// Row `AppRouter`.
    private static let appRouter = Router(
        configuration: RouterConfiguration(dialect: .reerRouter, registersLinked: false))

    /// Row "Mode 1", and "Mode 2" with a host.
    private func router(host: String? = nil) -> Router {
        let dialect = host.map { Dialect.reerRouter(host: $0) } ?? .reerRouter
        return Router(configuration: RouterConfiguration(dialect: dialect, registersLinked: false))
    }

    /// Row `@Routable`: `make(with:)` is the initializer.
    private struct UserViewController: RoutablePage {
        let params: [String: JSONValue]

        init?(from request: RouteRequest) { params = request.parameters.merged }

        func opened() -> JSONValue? { .object(params) }
    }

    /// Row `@Routable(.chat)`, without the macros.
    @Test func `pages and actions of keys open`() async throws {
        let router = router()
        let triggered = Guarded(0)
        try router.register([
            Route(Self.chat, to: UserViewController.self), Route("setting", to: UserViewController.self),
            Route(Self.testKey, kind: .action) { _ in
                triggered.withLock { $0 += 1 }
                return .opened()
            },
        ])
        for key in ["chat", "setting", "testKey"] {
            #expect(await router.open("myapp://\(key)").route == key)
        }
        #expect(triggered.withLock { $0 } == 1)
    }

    // MARK: 1, Route.Key

    @Test(arguments: [
        (nil, "example.com/over/there"), ("example.com", "over/there"), ("example.com", "/over/there"),
    ])
    func `the key is host and path, or the path alone under a host`(host: String?, key: String) async throws {
        let router = router(host: host)
        try router.register(RouteKey(key)) { request in
            .opened([
                "name": request.parameters["name"] ?? .null, "fragment": .string(request.fragment ?? ""),
            ])
        }
        let opening = await router.open("myapp://example.com/over/there?name=phoenix#nose")
        #expect(opening.value == ["name": "phoenix", "fragment": "nose"])
    }

    // MARK: 2 to 4, registering and opening

    /// Rows `registerAction(with: key)` and `executeAction(byKey:)`.
    @Test(arguments: [(nil, "myapp://abc_action"), ("phoenix.com", "myapp://phoenix.com/abc_action")])
    func `an action is executed by its key and by its URL`(host: String?, url: String) async throws {
        let router = router(host: host)
        let executed = Guarded(0)
        try router.register("abc_action", kind: .action) { _ in
            executed.withLock { $0 += 1 }
            return .opened()
        }
        #expect(await router.open(RouteKey("abc_action")).isSuccess)
        #expect(await router.open(url).isSuccess)
        #expect(executed.withLock { $0 } == 2)
    }

    /// Row `register(UserViewController.self, forKey:)`; the wiki registers the key twice.
    @Test func `a page is registered by a constant or by a text`() async throws {
        let router = router()
        try router.register([Route(Self.userPage, to: UserViewController.self)])
        try router.register([Route("user", to: UserViewController.self)], replacing: true)
        #expect(router.routes.count == 1)
        #expect(await router.open("myapp://user?name=phoenix").value == ["name": "phoenix"])
    }

    /// Rows `registerPageClasses(with:)`.
    @Test func `pages are registered by type and by name`() async throws {
        let router = router()
        let name = "ReerRouter_Example.PreferenceViewController"
        try router.register([Route("preference", to: UserViewController.self, name: name)])
        #expect(await router.open("myapp://preference").isSuccess)
        #expect(router.unregister("preference"))
        try router.register(.destination(name) { _ in .opened("by name") })
        try router.register([Route("preference", to: name)])
        #expect(await router.open("myapp://preference").value == "by name")
    }

    /// Row `open(url)`, `push(url)`, `present(url)`.
    @Test(
        arguments: [
            (nil, "myapp://user?name=phoenix"), ("phoenix.com", "myapp://phoenix.com/user?name=phoenix"),
        ],
        [(JSONValue.null, JumpType.push), (1, .push), (0, .modal)])
    func `a page is opened, pushed and presented`(
        page: (host: String?, url: String), style: (number: JSONValue, type: JumpType)
    ) async throws {
        let router = router(host: page.host)
        try router.register([Route("user", to: UserViewController.self)])
        let opening = await router.open(page.url, parameters: ["jumpType": style.number])
        #expect(opening.presentation.jumpType == style.type)
        #expect(opening.parameters["name"] == "phoenix")
    }

    /// Row `present(byKey:)`.
    @Test func `a page is presented by its key with user info`() async throws {
        let router = router()
        try router.register([Route(Self.userPage, to: UserViewController.self)])
        let opening = await router.open(
            Self.userPage, ["name": "apple", "id": "123123", "jumpType": 0])
        #expect(opening.value == ["name": "apple", "id": "123123", "jumpType": 0])
        #expect(opening.presentation.jumpType == .modal)
    }

    // MARK: 5 to 9, listeners, fallback, the shared router

    /// Rows `didOpenURL`, `didFailToOpenURL`, `didFallbackToURL`, the notifications, and the fallback's URL.
    @Test(arguments: [
        ("myapp://user?name=phoenix", [.willOpen, .opened]),
        ("myapp://unregisteredKey", [.willOpen, .failed]),
        (
            "myapp://unregisteredKey?route_fallback_url=myapp%3A%2F%2Fuser%3Fname%3Di_am_fallback",
            [RouterEvent.Kind.willOpen, .fellBack]
        ),
    ])
    func `what happens to an open is heard of`(url: String, kinds: [RouterEvent.Kind]) async throws {
        let router = router()
        try router.register([Route("user", to: UserViewController.self)])
        let seen = Guarded<[RouterEvent]>([])
        router.observe { event in seen.withLock { $0.append(event) } }
        let opening = await router.open(url)
        let events = seen.withLock { $0 }
        #expect(events.map(\.kind) == kinds)
        #expect(events.first?.url == url)
        if case .fellBack(let fallback) = opening.outcome {
            #expect(fallback == "myapp://user?name=i_am_fallback")
            #expect(events.last?.url == fallback)
            #expect(opening.parameters["name"] == "i_am_fallback")
        }
    }

    /// Row `AppRouter`.
    @Test func `one router serves the whole program`() async throws {
        try Self.appRouter.register([Route("user", to: UserViewController.self)], replacing: true)
        #expect(await Self.appRouter.open("myapp://user").isSuccess)
    }

    // MARK: 10 to 12, how a page is shown

    /// Keeps what it was asked to show, and how.
    private final class AppNavigator: Navigator {
        let shown = Guarded<[(screen: Screen, animator: String?)]>([])

        func show(_ screen: Screen) async throws -> JSONValue? { try await show(screen, objects: [:]) }
        func show(_ screen: Screen, objects: [String: any Sendable]) async throws -> JSONValue? {
            let transition = objects["transition"] as? @Sendable (Screen) -> String
            shown.withLock { $0.append((screen, transition?(screen))) }
            return nil
        }
    }

    /// Row `TransitionExecutor`.
    @Test func `the transition of one call reaches the navigator`() async throws {
        let router = router()
        let navigator = AppNavigator()
        try router.register(.page("user", in: navigator))
        let transition: @Sendable (Screen) -> String = { toViewController in
            "currentContext of \(toViewController.route)"
        }
        _ = await router.open(
            "myapp://user", parameters: ["jumpType": 0], objects: ["transition": transition])
        _ = await router.open("myapp://user")
        #expect(navigator.shown.withLock { $0.map(\.animator) } == ["currentContext of user", nil])
    }

    /// Row `preferredOpenStyle`: router < page < call.
    @Test(
        arguments: [
            (nil, nil, JumpType.modal), (.push, nil, .push), (.push, 0, .modal), (nil, 1, .push),
        ] as [(JumpType?, JSONValue?, JumpType)])
    func `the call's style wins over the page's, and that over the router's`(
        page: JumpType?, call: JSONValue?, shown: JumpType
    ) async throws {
        let router = Router(
            configuration: RouterConfiguration(dialect: .reerRouter, jumpType: .modal, registersLinked: false)
        )
        try router.register(.page("user", in: NavigationStack(), jumpType: page))
        let opening = await router.open("myapp://user", parameters: ["jumpType": call ?? .null])
        #expect(opening.presentation.jumpType == shown)
    }

    /// Row `route_no_animation`.
    @Test func `a URL turns the animation off`() async throws {
        let router = router()
        let navigator = AppNavigator()
        try router.register(.page("user", in: navigator))
        _ = await router.open("myapp://user?name=google&route_no_animation=1")
        _ = await router.open("myapp://user?name=google")
        #expect(navigator.shown.withLock { $0.map(\.screen.presentation.noAnimation) } == [true, nil])
    }

    // MARK: 13 and 14, interceptors, registering later

    /// Row `addInterceptor(forKey:)`: both of the wiki, asked in the order of adding.
    @Test func `one interceptor looks and another stops`() async throws {
        let router = router()
        try router.register([
            Route(Self.userPage, to: UserViewController.self), Route(Self.chat, to: UserViewController.self),
        ])
        let log = Guarded<[String]>([])
        try router.intercept(scope: .patterns([Self.userPage])) { _ in
            log.withLock { $0.append("intercepted user page") }
            return .proceed
        }
        try router.intercept(scope: .patterns([Self.userPage])) { request in
            guard request.parameters["name"] == "google" else { return .proceed }
            log.withLock { $0.append("intercepted user page success") }
            return .stop(reason: "intercepted user page success")
        }
        #expect(await router.open("myapp://user?name=phoenix").isSuccess)
        #expect(await router.open("myapp://user?name=google").code == .intercepted)
        #expect(await router.open("myapp://chat?name=google").isSuccess)
        #expect(
            log.withLock { $0 } == [
                "intercepted user page", "intercepted user page", "intercepted user page success",
            ])
    }

    #if Macros
    /// Rows `@Routable(.chat)` and `isAutoRegisterEnabled`, `registerRoutes()`.
    @Test(arguments: ["chat", "setting", "testKey"])
    func `what the macros declare is registered when the program says so`(key: String) async {
        let router = router()
        #expect(!router.canOpen("myapp://\(key)"))
        router.registerLinked()
        #expect(await router.open("myapp://\(key)").route == key)
    }
    #endif
}

#if Macros
extension RouteKey {
    fileprivate static let chat: RouteKey = "chat"
    fileprivate static let testKey: RouteKey = "testKey"
}

@Routable(.chat)
private final class ChatViewController: RoutablePage, Sendable {
    init?(from request: RouteRequest) {}
}

@Routable("setting")
private final class SettingViewController: RoutablePage, Sendable {
    init?(from request: RouteRequest) {}
}

private struct Foo {
    #route(
        key: .testKey,
        action: { params in
            print("testKey triggered nested")
        })
}
#endif
