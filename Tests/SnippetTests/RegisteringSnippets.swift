import Foundation
import Testing
import Threading
import Waypost
import WaypostTools

// snippet
extension RouteKey {
    static let userPage: RouteKey = "myapp://user/:id"
}

func openUser(with router: Router) async throws -> Opening {
    try router.register(.userPage) { request in .opened(request.parameters["id"]) }
    return await router.open(.userPage, ["id": 42, "tab": "orders"])
}
// end snippet

// snippet
@MainActor
final class AppNavigator: Navigator {
    private(set) var stack: [Screen] = []
    private(set) var taps = 0

    func show(_ screen: Screen) async throws -> JSONValue? {
        stack.append(screen)
        return nil
    }

    func register(in router: Router) throws {
        try router.register(.page("myapp://orders/:id", name: "OrderScreen", in: self))
        try router.register("myapp://tap") { _ in
            self.taps += 1
            return .opened(JSONValue(self.taps))
        }
    }
}
// end snippet

#if Macros
private let isWithoutMacros = false
#else
private let isWithoutMacros = true
#endif

@Suite struct `Snippets on registering` {
    @Test func `a group has metadata, defaults and interceptors in common`() async throws {
        let router = Router()
        let staff = Guarded(false)
        @Sendable func isStaff() -> Bool { staff.withLock(\.self) }
        // snippet
        try router.group("shop://admin", metadata: ["auth": true, "roles": ["staff"]]) { admin in
            admin.intercept("staff only") { _ in isStaff() ? .proceed : .stop(reason: "for staff only") }
            try admin.register("users/:id", metadata: ["title": "User"]) { request in
                .opened(request.metadata["title"])
            }
            try admin.group("reports", defaults: ["page": 1]) { reports in
                try reports.register("daily") { request in .opened(request.parameters["page"]) }
            }
        }
        try router.intercept("audit", scope: .metadata("auth", true)) { request in
            print("\(request.context.caller ?? "the app") opens \(request.route)")
            return .proceed
        }
        // end snippet
        #expect(await router.open("shop://admin/users/7").code == .intercepted)
        staff.withLock { $0 = true }
        #expect(await router.open("shop://admin/users/7").value == "User")
        #expect(await router.open("shop://admin/reports/daily").value == 1)
        #expect(await router.open("shop://admin/reports/daily?page=2").value == "2")
    }

    @Test func `a route says what it reads`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        // snippet
        try router.register(
            "shop://search",
            parameters: [
                RouteParameter("text", as: String.self, summary: "What is looked for."),
                RouteParameter("page", as: Int?.self),
            ]
        ) { request in .opened(request.parameters["text"]) }
        // end snippet
        #expect(router.routes.first?.parameters.map(\.isRequired) == [true, false])
        #expect(await router.open("shop://search").code == .ok)
    }

    // snippet
    func openDemo(with router: Router) async -> Opening {
        await RouteBuilder.build("scheme://router/demo")
            .withInt(key: "intValue", value: 2)
            .withBool(key: "boolValue", value: false)
            .with("sizes", ["S", "M"])
            .open(with: router)
    }
    // end snippet

    actor OrderService {
        var count: Int { 3 }
    }

    // snippet
    struct LoginModule: RouteModule {
        var routes: [Route] {
            [Route("myapp://login", name: "LoginScreen") { _ in .opened() }]
        }
    }

    struct OrdersModule: RouteModule {
        var dependencies: [String] { ["LoginModule"] }
        var routes: [Route] {
            [Route("myapp://orders", name: "OrderList") { _ in .opened() }]
        }
        var services: [ExposedService] {
            [
                ExposedService("OrderService", make: OrderService.init) {
                    Exposed("count()", idempotent: true) { (orders: OrderService) in await orders.count }
                }
            ]
        }
        func setUp(in router: Router) async throws {
            // Open the database, read the settings, guard what is shown.
            try router.intercept("orders", scope: .subtree("myapp://orders")) { request in
                request.context.caller == nil ? .proceed : .stop(reason: "only the program itself")
            }
        }
    }

    func makeRouter() -> Router {
        let router = Router()
        router.declare([OrdersModule(), LoginModule()])
        return router
    }
    // end snippet

    // snippet
    struct Catalog: Sendable {
        var titles: [String]
    }

    struct CatalogModule: RouteModule {
        var setUpDeadline: Duration? { .seconds(5) }
        var providers: [ServiceProvider] {
            [ServiceProvider(Catalog.self) { Catalog(titles: ["Swift"]) }]
        }
    }

    func titles(from router: Router) async throws -> [String] {
        try await router.services.fetch(Catalog.self, within: .seconds(2)).titles
    }
    // end snippet

    // snippet
    func followOpens() async throws -> NavigationState {
        let router = Router()
        let stack = NavigationStack(tabs: 3)
        try router.register(.page("myapp://orders/:id", name: "OrderScreen", in: stack))
        _ = await router.open("myapp://orders/1")
        _ = await router.open("myapp://orders/2?jumpType=0")
        return stack.state
    }
    // end snippet

    // snippet
    func followAndKeep(_ kept: NavigationState?, save: @escaping @Sendable (NavigationState) -> Void) throws
        -> Router
    {
        let router = Router()
        let stack = kept.map { NavigationStack(restoring: $0) } ?? NavigationStack(tabs: 3)
        router.observeNavigation(save)
        try router.register(.page("myapp://orders/:id", name: "OrderScreen", in: stack))
        return router
    }
    // end snippet

    @Test func `what is shown is kept over a restart`() async throws {
        let kept = Guarded<NavigationState?>(nil)
        let before = try followAndKeep(nil) { state in kept.withLock { $0 = state } }
        _ = await before.open("myapp://orders/1")
        let after = try followAndKeep(kept.withLock(\.self)) { _ in }
        #expect(after.navigator?.navigation?.top?.url == "myapp://orders/1")
        #expect(try await after.navigate(.back) == false)
    }

    // snippet
    func findMistakes(in router: Router, exported file: JSONValue) throws -> CheckReport {
        let declared = try RouteDescription.list(file)
        return router.check(declared: declared)
    }
    // end snippet

    // snippet
    func keepContract(of router: Router, in file: URL) throws {
        try router.contract.text.write(to: file, atomically: true, encoding: .utf8)
    }

    func brokenPromises(of router: Router, in file: URL) throws -> [String] {
        let kept = try RouterContract(JSONValue(parsing: Data(contentsOf: file)))
        return router.check(against: kept).findings.filter(\.breaksCallers).map(\.detail)
    }
    // end snippet

    @Test func `a contract that was kept is held in a unit test`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "contract-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("myapp://orders/:id", parameters: [RouteParameter("tab", as: Int?.self)]) { _ in
            .opened()
        }
        try keepContract(of: router, in: file)
        #expect(try brokenPromises(of: router, in: file) == [])
        let later = Router(configuration: RouterConfiguration(registersLinked: false))
        try later.register("myapp://orders/:id") { _ in .opened() }
        #expect(
            try brokenPromises(of: later, in: file) == [
                "myapp://orders/:id is listed with the parameter tab, which it no longer reads"
            ])
    }

    @Test(.enabled(if: isWithoutMacros, "the router of the snippet would hold what MacroSnippets declares"))
    func `a list is registered in one step`() async throws {
        // snippet
        let router = Router()
        try router.register([
            Route("myapp://orders", name: "OrderList") { _ in .opened() },
            Route("myapp://orders/:id", name: "OrderScreen", idempotent: true) { request in
                .opened(request.parameters["id"])
            },
            Route("myapp://orders/help", name: "HelpScreen", priority: 5) { _ in .opened() },
            Route("myapp://cart/clear", kind: .action) { _ in .opened(true) },
        ])
        // end snippet
        #expect(await router.open("myapp://orders/help").route == "myapp://orders/help")
        #expect(await router.open("myapp://orders/7").value == "7")
        #expect(router.resolve("myapp://orders/7").idempotent)
        #expect(router.routeCount == 4)
    }

    @Test func `a key makes the URL`() async throws {
        let opening = try await openUser(with: Router())
        #expect(opening.url == "myapp://user/42?tab=orders")
        #expect(opening.value == 42)
    }

    @Test func `a pattern with optional parts is one route`() async throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        // snippet
        try router.register("myapp://trip/:from-:to(/:class)", name: "TripScreen") { request in
            .opened(request.parameters["class"] ?? "any class")
        }
        router.unregister("myapp://trip/:from-:to(/:class)")
        // end snippet
        #expect(router.routes.isEmpty)
    }

    @Test func `a name makes paths`() async throws {
        let router = Router()
        try router.register("myapp://orders", name: "OrderList") { _ in .opened("orders") }
        // snippet
        try router.register(.destination("CartScreen") { _ in .opened("cart") })
        try router.register(Route("myapp://cart", to: "CartScreen"))
        try router.register([
            Route("myapp://warenkorb", to: "CartScreen"), Route("myapp://bestellungen", to: "OrderList"),
        ])
        // end snippet
        #expect(await router.open("myapp://warenkorb").value == "cart")
        #expect(await router.open("myapp://cart").value == "cart")
        #expect(await router.open("myapp://bestellungen").value == "orders")
    }

    @Test func `a chain carries its values`() async throws {
        let router = Router()
        try router.register("scheme://router/demo") { request in .opened(.object(request.parameters.merged)) }
        let opening = await openDemo(with: router)
        #expect(opening.value == ["intValue": 2, "boolValue": false, "sizes": ["S", "M"]])
    }

    @Test(.enabled(if: isWithoutMacros, "the router of the snippet would hold what MacroSnippets declares"))
    func `modules are visible at once and set up at the first open`() async throws {
        let router = makeRouter()
        #expect(router.routeCount == 2)
        #expect(router.modulesLoading == ["OrdersModule", "LoginModule"])
        #expect(await router.open("myapp://orders").isSuccess)
        #expect(router.canOpen("myapp://login"))
        #expect(try await router.services.call("OrderService", "count") == 3)
    }

    @Test func `a service of a module is fetched when the module is set up`() async throws {
        let router = Router()
        router.declare([CatalogModule()])
        #expect(try await titles(from: router) == ["Swift"])
    }

    @Test func `a model follows the opens`() async throws {
        let state = try await followOpens()
        #expect(state.top?.url == "myapp://orders/2?jumpType=0")
        #expect(state.tabs[0].map(\.url) == ["myapp://orders/1"])
        #expect(state.modals.count == 1)
    }

    @Test func `what belongs to the main actor uses its state`() async throws {
        let (router, navigator) = (Router(), AppNavigator())
        try await navigator.register(in: router)
        #expect(await router.open("myapp://orders/4").isSuccess)
        #expect(await router.open("myapp://tap").value == 1)
        #expect(await navigator.stack.map(\.name) == ["OrderScreen"])
    }

    @Test func `a check names what is missing`() throws {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("myapp://here", name: "Here") { _ in .opened() }
        let file: JSONValue = [["path": "myapp://there", "class": "There", "priority": 0]]
        let report = try findMistakes(in: router, exported: file)
        #expect(report.findings(.declaredNotRegistered).map(\.subject) == ["myapp://there"])
        #expect(report.findings(.registeredNotDeclared).map(\.subject) == ["myapp://here"])
    }
}
