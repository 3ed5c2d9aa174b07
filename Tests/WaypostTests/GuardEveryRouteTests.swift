import TestSupport
import Testing
import Threading

@testable import Waypost
@testable import WaypostTools

extension RouteKey {
    fileprivate static let guardedKey: RouteKey = "g://key"
}

@Sendable private func refuse(_ request: RouteRequest) -> RouteAnswer {
    Issue.record("the handler of \(request.route) ran")
    return .opened()
}

/// An interceptor by metadata guards what has them, however it was registered and however an open comes to it.
@Suite(.patient) struct `Guard every route` {
    static let auth: [String: JSONValue] = ["auth": true]

    /// A handler that must not run, in both forms.
    static let immediate: Route.ImmediateHandler = refuse

    static let waiting: Route.Handler = { request in
        await Task.yield()
        return refuse(request)
    }

    enum GuardedType: Routable {
        static var metadata: [String: JSONValue] { auth }
        static func open(_ request: RouteRequest) -> RouteAnswer { refuse(request) }
    }

    enum PlainType: Routable {
        static var metadata: [String: JSONValue] { ["title": "plain"] }
        static func open(_ request: RouteRequest) -> RouteAnswer { refuse(request) }
    }

    struct GuardedPage: RoutablePage, Decodable {
        static var metadata: [String: JSONValue] { auth }
        func opened() -> JSONValue? {
            Issue.record("the page was opened")
            return nil
        }
    }

    struct Module: RouteModule {
        var routes: [Route] { [Route("g://x", metadata: auth, handler: refuse)] }
    }

    struct ClosedNavigator: Navigator {
        func show(_ screen: Screen) async throws -> JSONValue? {
            Issue.record("\(screen.route) was shown")
            return nil
        }
    }

    /// A way to a route that has the metadata ``auth``: the forms in which a program registers one, and all that leads to
    /// another route than the URL's own.
    enum Way: String, CaseIterable {
        case route, routeThatWaits, routeToType, routeToPage, routeToTypeWithMore, routeToTypeByKey
        case register, registerWaiting, registerKey, registerKeyWaiting, page, registerPage
        case pathOfDestination, pathsOfDestinations, pathWithItsOwn, pathsWithTheirOwn, pathOfRoute
        case group, groupInGroup, routeInGroup, listInGroup, module, exportedList, linkedRecords
        case mapAddsForDestination, mapAddsForRoute, mapGivesToAnother, mapRedirects, mapResets, mapDeletes
        case ownRedirect, interceptorRedirects, hookRedirects, otherDeclines
        case takesDeeper, optionalParts, fallbackOfScheme, webPage

        /// What is opened.
        var url: String {
            switch self {
            case .routeToTypeByKey, .registerKey, .registerKeyWaiting: "g://key"
            case .pathOfRoute, .mapAddsForRoute: "g://y"
            case .groupInGroup, .routeInGroup, .listInGroup, .takesDeeper, .optionalParts, .mapDeletes,
                .otherDeclines:
                "g://x/7"
            case .mapGivesToAnother, .mapRedirects, .ownRedirect, .interceptorRedirects, .hookRedirects:
                "g://free"
            case .fallbackOfScheme: "g://nowhere"
            case .webPage: "https://example.com/a"
            default: "g://x"
            }
        }
    }

    private func register(_ way: Way, in router: Router) throws {
        let (auth, immediate, waiting) = (Self.auth, Self.immediate, Self.waiting)
        let guarded = Route("g://x", name: "D", metadata: auth, handler: immediate)
        let free = Route("g://free", handler: immediate)
        switch way {
        case .route: try router.register([guarded])
        case .routeThatWaits: try router.register([Route("g://x", metadata: auth, handler: waiting)])
        case .routeToType: try router.register([Route("g://x", to: GuardedType.self)])
        case .routeToPage: try router.register([Route("g://x", to: GuardedPage.self)])
        case .routeToTypeWithMore:
            try router.register([Route("g://x", to: PlainType.self, metadata: auth)])
        case .routeToTypeByKey:
            try router.register([Route(RouteKey.guardedKey, to: PlainType.self, metadata: auth)])
        case .register: try router.register("g://x", metadata: auth, handler: immediate)
        case .registerWaiting: try router.register("g://x", metadata: auth, handler: waiting)
        case .registerKey: try router.register(RouteKey.guardedKey, metadata: auth, handler: immediate)
        case .registerKeyWaiting: try router.register(RouteKey.guardedKey, metadata: auth, handler: waiting)
        case .page: try router.register([.page("g://x", in: ClosedNavigator(), metadata: auth)])
        case .registerPage: try router.register(.page("g://x", in: ClosedNavigator(), metadata: auth))
        case .pathOfDestination:
            try router.register(.destination("D", metadata: auth, handler: waiting))
            try router.register(Route("g://x", to: "D"))
        case .pathsOfDestinations:
            try router.register(.destination("D", metadata: auth, handler: waiting))
            try router.register([Route("g://x", to: "D")])
        case .pathWithItsOwn:
            try router.register(.destination("D", metadata: ["title": "D"], handler: waiting))
            try router.register(Route("g://x", to: "D", metadata: auth))
        case .pathsWithTheirOwn:
            try router.register(.destination("D", handler: waiting))
            try router.register([Route("g://x", to: "D", metadata: auth)])
        case .pathOfRoute:
            try router.register([guarded])
            try router.register(Route("g://y", to: "D"))
        case .group:
            try router.group("g://x", metadata: auth) { group in
                try group.register("", handler: immediate)
            }
        case .groupInGroup:
            try router.group("g://x", metadata: auth) { outer in
                try outer.group("") { inner in try inner.register("7", handler: waiting) }
            }
        case .routeInGroup:
            try router.group("g://x") { group in
                try group.register("7", metadata: auth, handler: immediate)
            }
        case .listInGroup:
            try router.group("g://x") { group in
                try group.register([Route(":id", metadata: auth, handler: immediate)])
            }
        case .module: router.declare([Module()])
        case .exportedList:
            let list: JSONValue = [["path": "g://x", "class": "X", "metadata": ["auth": true]]]
            try router.register(RouteDescription.list(list).map { Route($0, handler: waiting) })
        case .linkedRecords: #expect(router.add(`Read linked records`.read([Self.record])).isEmpty)
        case .mapAddsForDestination:
            try router.register(.destination("D", metadata: auth, handler: waiting))
            try router.register([free])
            try relocate(router, .add(path: "g://x", className: "D"))
        case .mapAddsForRoute:
            try router.register([guarded])
            try relocate(router, .add(path: "g://y", className: "D"))
        case .mapGivesToAnother:
            try router.register([free, guarded])
            try relocate(router, .add(path: "g://free", className: "D"))
        case .mapRedirects:
            try router.register([free, guarded])
            try relocate(router, .replace(origin: "g://free", target: "g://x"))
        case .mapResets:
            try router.register([free, guarded])
            let redirect = RelocationEntry(.replace(origin: "g://x", target: "g://free"))
            let reset = RelocationEntry(.reset(origin: "g://x", target: nil))
            try router.relocate([
                RelocationLayer(name: "below", entries: [redirect]),
                RelocationLayer(name: "above", entries: [reset]),
            ])
        case .mapDeletes:
            try router.register("g://x/<int:id>", handler: immediate)
            try router.register("g://x/:id", metadata: auth, handler: immediate)
            try relocate(router, .delete(path: "g://x/<int:id>"))
        case .ownRedirect:
            try router.register([Route("g://free", redirect: { _ in "g://x" }, handler: immediate), guarded])
        case .interceptorRedirects:
            try router.register([free, guarded])
            try router.intercept("mover", scope: .patterns(["g://free"])) { _ in .redirect(to: "g://x") }
        case .hookRedirects:
            try router.register([free, guarded])
            router.willOpen { _ in .open("g://x") }
        case .otherDeclines:
            try router.register("g://x/7") { _ in .pass }
            try router.register("g://x/:id", metadata: auth, handler: immediate)
        case .takesDeeper:
            try router.register("g://x", takesDeeper: true, metadata: auth, handler: immediate)
        case .optionalParts: try router.register("g://x(/:id)", metadata: auth, handler: immediate)
        case .fallbackOfScheme: try router.register("g://", metadata: auth, handler: immediate)
        case .webPage: try router.register("g://web", metadata: auth, handler: immediate)
        }
    }

    private static let record: LinkedRecord = (
        0x7761_7970, 1,
        { pointer in
            LinkedRecordSink(pointer).add(Route("g://x", metadata: ["auth": true], handler: refuse))
        }, 0, 0
    )

    private func relocate(_ router: Router, _ kind: RelocationEntry.Kind) throws {
        try router.relocate([RelocationLayer(name: "map", entries: [RelocationEntry(kind)])])
    }

    @Test(arguments: Way.allCases) func `who is not logged in is stopped, on every way to a route`(way: Way)
        async throws
    {
        let router = Router(configuration: RouterConfiguration(webPath: "g://web", registersLinked: false))
        try router.intercept("login", scope: .metadata("auth", true)) { _ in .stop(reason: "log in first") }
        try register(way, in: router)
        let opening = await router.open(way.url)
        #expect(opening.outcome == .intercepted(by: "login", reason: "log in first"))
        #expect(router.check().findings(.deadScope).isEmpty)
    }

    @Test func `the fallback of an open is guarded, and no fallback leads to a call`() async throws {
        let router = Router()
        try router.register("g://x", metadata: Self.auth, handler: Self.immediate)
        try router.intercept("login", scope: .metadata("auth", true)) { _ in .stop(reason: "log in first") }
        #expect(await router.open("g://none?route_fallback_url=g%3A%2F%2Fx").code == .noRoute)
        let call = "scheme%3A%2F%2Fservices%3Fprotocol%3DS%26method%3Dm"
        try router.services.expose(
            ExposedService("S", make: { 1 }) {
                Exposed("m()") { (_: Int) in _ = Issue.record("the method ran") }
            })
        #expect(await router.open("g://none?route_fallback_url=\(call)").code == .noRoute)
    }

    @Test func `a path that a map takes from an excepted route is guarded as its new destination is`()
        async throws
    {
        let router = try recordingRouter([("g://login", "Login"), ("g://admin", "Admin")])
        try router.register(.destination("Hidden", handler: Self.waiting))
        try router.intercept("login", scope: .allBut(["g://login"])) { _ in .stop(reason: "log in first") }
        for name in ["Admin", "Hidden"] {
            try relocate(router, .add(path: "g://login", className: name))
            #expect(await router.open("g://login").code == .intercepted, "\(name)")
        }
        try relocate(router, .add(path: "g://anmelden", className: "Login"))
        #expect(await router.open("g://login").isSuccess)
        #expect(await router.open("g://anmelden").code == .intercepted)
    }

    @Test func `a subtree guards the page of web URLs too`() async throws {
        let router = Router(configuration: RouterConfiguration(webPath: "g://web/page"))
        try router.register("g://web/page", handler: Self.immediate)
        try router.intercept("login", scope: .subtree("g://web")) { _ in .stop(reason: "log in first") }
        #expect(await router.open("https://example.com/a").code == .intercepted)
    }

    @Test func `a page that is closed to the caller is not shown below another`() async throws {
        let stack = NavigationStack()
        let router = Router()
        try router.register(.page("g://x", name: "list", in: stack))
        try router.register(.page("g://x/:id", name: "secret", in: stack, metadata: Self.auth))
        try router.register(.page("g://x/:id/help", name: "help", in: stack))
        let isLoggedIn = Guarded(false)
        let asked = Guarded<[String]>([])
        try router.intercept("login", scope: .metadata("auth", true)) { request in
            asked.withLock { $0.append("\(request.url.text) \(request.context.caller ?? "-")") }
            return isLoggedIn.withLock { $0 } ? .proceed : .stop(reason: "log in first")
        }
        let context = OpenContext(caller: "ops")
        #expect(await router.open("g://x/7/help?route_parents=true", context: context).isSuccess)
        #expect(stack.state.tabs[0].map(\.name) == ["list", "help"])
        #expect(asked.withLock { $0 } == ["g://x/7 ops"])
        isLoggedIn.withLock { $0 = true }
        #expect(await router.open("g://x/7/help?route_parents=true", context: context).isSuccess)
        #expect(stack.state.tabs[0].map(\.name) == ["list", "secret", "help"])
    }
}
