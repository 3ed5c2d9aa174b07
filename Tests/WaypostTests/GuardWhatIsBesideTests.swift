import TestSupport
import Testing
import Threading

@testable import Waypost

/// A guard holds for every way to write its place, and for nothing beside it; what waited goes on as things are by then.
@Suite(.patient) struct `Guards around what is beside` {
    /// How a caller may write `app://admin/users/7`.
    static let spellings = [
        "app://admin/users/7", "APP://admin/users/7", "app://admin//users/7/", "app:///admin/users/7",
        "app://%61dmin/users/7", "app://admin/%75sers/7", "app://u@admin:8/users/7",
        "app://admin/users/7?x=1#f",
        " app://admin/users/7 ",
    ]
    static let otherCases = [
        "app://ADMIN/users/7", "app://admin/USERS/7", "app://Admin/Users/7", "app://%41DMIN/users/7",
        "APP://aDmIn//uSeRs/7/",
    ]

    static let scopes: [InterceptorScope] = [
        .all, .subtree("app://admin"), .subtree("app://ADMIN/users"), .patterns(["app://admin/users/:id"]),
        .patterns(["app://Admin/USERS/:other"]), .allBut(["app://open"]), .metadata("auth", true),
    ]

    private func router(ignoresCase: Bool) throws -> Router {
        let router = Router(
            configuration: RouterConfiguration(ignoresCase: ignoresCase, registersLinked: false))
        let auth: [String: JSONValue] = ["auth": true]
        try router.register("app://admin/users/:id", metadata: auth) { _ in .opened() }
        try router.register("app://open") { _ in .opened() }
        try router.register("app://administration") { _ in .opened() }
        return router
    }

    @Test(arguments: scopes, [true, false])
    func `a guard is passed by no spelling that opens what it guards`(
        _ scope: InterceptorScope, _ ignoresCase: Bool
    ) async throws {
        let router = try router(ignoresCase: ignoresCase)
        try router.intercept("guard", scope: scope) { _ in .stop(reason: "closed") }
        // Where case counts, a scope that is written otherwise guards another place.
        let isOther: Bool =
            switch scope {
            case .subtree(let place): place.rawValue != place.rawValue.lowercased()
            case .patterns(let patterns): patterns.contains { $0.rawValue != $0.rawValue.lowercased() }
            default: false
            }
        guard ignoresCase || !isOther else { return }
        for url in Self.spellings + Self.otherCases {
            let opening = await router.open(url)
            #expect(!opening.isSuccess, "\(url)")
            #expect(opening.code == .intercepted || !ignoresCase, "\(url): \(opening.detail)")
        }
    }

    @Test func `what only looks alike lies beside the guard`() async throws {
        let router = try router(ignoresCase: true)
        try router.intercept("guard", scope: .subtree("app://ADMIN")) { _ in .stop(reason: "closed") }
        #expect(await router.open("app://administration").isSuccess)
        #expect(await router.open("app://Open").isSuccess)
    }

    // MARK: Pages above

    /// A list, a page below it and one below that, of which the middle one is guarded.
    private func stack(
        _ decide: @escaping @Sendable (RouteRequest) -> InterceptorDecision
    ) throws -> (Router, NavigationStack) {
        let (router, stack) = (
            Router(configuration: RouterConfiguration(registersLinked: false)), NavigationStack()
        )
        try router.register(.page("g://x", name: "list", in: stack))
        try router.register(.page("g://x/:id", name: "page", in: stack))
        try router.register(.page("g://x/:id/help", name: "help", in: stack))
        try router.intercept("middle", scope: .patterns(["g://x/:id"])) { decide($0) }
        return (router, stack)
    }

    @Test func `a page above gets what its own interceptor changed, and no other page does`() async throws {
        let (router, stack) = try stack { _ in .rewrite(["user": "Ann"]) }
        try router.intercept("below", scope: .patterns(["g://x/:id/help"])) { _ in .rewrite(["topic": "keys"])
        }
        #expect(await router.open("g://x/7/help?route_parents=true").isSuccess)
        let screens = stack.state.tabs[0]
        #expect(screens.map(\.name) == ["list", "page", "help"])
        #expect(screens[0].parameters["user"] == nil && screens[0].parameters["topic"] == nil)
        #expect(screens[1].parameters["user"] == "Ann" && screens[1].parameters["topic"] == nil)
        #expect(screens[2].parameters["topic"] == "keys" && screens[2].parameters["user"] == nil)
    }

    @Test(arguments: ["stop", "redirect", "wait", "throw"])
    func `a page above that its interceptor does not let open now is left out`(_ way: String) async throws {
        let gate = OpenGate("login")
        let router: Router
        let stack: NavigationStack
        (router, stack) = try self.stack { _ in
            switch way {
            case "stop": .stop(reason: "closed")
            case "redirect": .redirect(to: "g://x")
            default: .wait(for: gate, atMost: .seconds(600))
            }
        }
        if way == "throw" {
            try router.intercept("fails", scope: .patterns(["g://x/:id"])) { _ in
                throw Failure(.busy, "later")
            }
        }
        #expect(await router.open("g://x/7/help?route_parents=true").isSuccess)
        #expect(stack.state.tabs[0].map(\.name) == ["list", "help"])
        #expect(router.waitingOpens.isEmpty)
    }

    // MARK: What waited

    /// What is changed while an open waits, and where the open leads then.
    struct Change: Sendable {
        var name: String
        var change: @Sendable (Router) throws -> Void
        var value: JSONValue
    }

    /// A statement each, for the compiler.
    static let changes: [Change] = {
        var rows: [Change] = []
        func add(_ name: String, _ value: JSONValue, _ change: @escaping @Sendable (Router) throws -> Void) {
            rows.append(Change(name: name, change: change, value: value))
        }
        add("nothing", ["id": "7", "user": "Ann"]) { (_: Router) throws -> Void in }
        add("what an interceptor writes", ["id": "7", "user": "Eve"]) { (router: Router) throws -> Void in
            _ = try router.intercept("later", priority: -1) { _ in .rewrite(["user": "Eve"]) }
        }
        add("the labels that a map asks for", ["id": "7", "tier": "gold"]) {
            (router: Router) throws -> Void in
            router.updateRelocationContext { $0.labels["tier"] = "gold" }
        }
        add("a hook, which is asked once", ["id": "7", "user": "Ann"]) { (router: Router) throws -> Void in
            _ = router.willOpen { _ in .open("w://second/8") }
        }
        add("the route itself", ["id": "7", "user": "Ann", "new": true]) { (router: Router) throws -> Void in
            _ = try router.register("w://first/:id", replacing: true) { request in
                .opened(.object(request.parameters.merged.merging(["new": true]) { $1 }))
            }
        }
        return rows
    }()

    @Test(arguments: changes.indices)
    func `an open that waited goes on as things are by then`(_ index: Int) async throws {
        let change = Self.changes[index]
        let (gate, isOpen) = (OpenGate("gate"), Lock())
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        for name in ["first", "second"] {
            try router.register(RouteKey("w://\(name)/:id")) { .opened(.object($0.parameters.merged)) }
        }
        let map: JSONValue = [
            [
                "routerType": 1, "orginPath": "w://first/:id", "targetPath": "w://second/:id?tier=gold",
                "when": ["labels": ["tier": "gold"]],
            ]
        ]
        try router.relocate([RelocationLayer(name: "map", entries: RelocationEntry.list(map))])
        // Each time that it is asked it begins with what the caller gave, and not with what was written before.
        try router.intercept("writes", priority: 2, scope: .subtree("w://first")) { request in
            #expect(request.parameters["user"] == nil)
            return .rewrite(["user": "Ann"])
        }
        try router.intercept("gate", priority: 1, scope: .subtree("w://first")) { _ in
            isOpen.isOpen ? .proceed : .wait(for: gate, atMost: .seconds(600))
        }
        let opening = Task { await router.open("w://first/7") }
        try await eventually("the open that waits") { !router.waitingOpens.isEmpty }
        try change.change(router)
        isOpen.open()
        gate.open()
        #expect(await opening.value.value == change.value, "\(change.name)")
    }

    private final class Lock: Sendable {
        private let state = Guarded(false)
        var isOpen: Bool { state.withLock(\.self) }
        func open() { state.withLock { $0 = true } }
    }
}
