import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Intercept opens` {
    func router() throws -> Router {
        try recordingRouter([
            ("scheme://router/orders", "OrdersScreen"), ("scheme://router/orders/:id", "OrderScreen"),
            ("scheme://router/login", "LoginScreen"),
        ])
    }

    @Test func `orders open only after a login and the handle takes the interceptor away`() async throws {
        let router = try router()
        let user = Guarded<String?>(nil)
        try router.register("scheme://router/login", name: "LoginScreen", replacing: true) { request in
            let name = try request.parameters.value("user", as: String.self)
            user.withLock { $0 = name }
            return .opened()
        }
        let handle = try router.intercept("login", scope: .patterns(["scheme://router/orders"])) { _ in
            user.withLock { $0 } == nil ? .stop(reason: "log in first") : .proceed
        }
        let stopped = await router.open("scheme://router/orders")
        #expect(stopped.outcome == .intercepted(by: "login", reason: "log in first"))
        #expect(stopped.code == .intercepted)
        #expect(stopped.route == "scheme://router/orders")
        #expect(await router.open("scheme://router/orders/1").isSuccess)
        #expect(await router.open("scheme://router/login?user=Ann").isSuccess)
        #expect(await router.open("scheme://router/orders").isSuccess)
        user.withLock { $0 = nil }
        handle.cancel()
        handle.cancel()
        #expect(await router.open("scheme://router/orders").isSuccess)
    }

    @Test(arguments: [
        InterceptorScope.patterns(["scheme://router/orders"]), .subtree("scheme://router/orders"),
        .allBut(["scheme://router/login"]), .all,
    ])
    func `a path that relocation adds for a guarded destination is guarded too`(scope: InterceptorScope)
        async throws
    {
        let router = try router()
        try router.intercept("login", scope: scope) { _ in .stop(reason: "log in first") }
        let entry = RelocationEntry(.add(path: "scheme://router/back-door", className: "OrdersScreen"))
        _ = try router.relocate([RelocationLayer(name: "agent", entries: [entry])])
        let stopped = await router.open("scheme://router/back-door")
        #expect(stopped.outcome == .intercepted(by: "login", reason: "log in first"))
    }

    @Test func `interceptors run by priority and equal ones as they were added`() async throws {
        let router = try router()
        let order = Guarded<[Int]>([])
        for (number, priority) in [0, 5, 0, -1, 5].enumerated() {
            try router.intercept(priority: priority) { _ in
                order.withLock { $0.append(number) }
                return .proceed
            }
        }
        _ = await router.open("scheme://router/orders")
        #expect(order.withLock { $0 } == [1, 4, 0, 2, 3])
        _ = await router.open("scheme://router/nowhere")
        #expect(order.withLock { $0.count } == 5)
    }

    static let scopes: [(InterceptorScope, [Bool])] = [
        (.all, [true, true, true]), (.patterns(["scheme://router/orders/:id"]), [false, true, false]),
        (.subtree("scheme://router/orders/*"), [true, true, false]),
        (.subtree("scheme://router/orders"), [true, true, false]),
        (.subtree("scheme://router/**"), [true, true, true]),
        (.subtree("/router/orders"), [true, true, false]),
        (.subtree("other://router"), [false, false, false]),
        (.allBut(["scheme://router/login"]), [true, true, false]),
        (.patterns(["Scheme://router//orders/", "scheme://router/login?x"]), [true, false, true]),
        (.patterns(["scheme://router/orders/<number>"]), [false, true, false]),
        (.allBut(["scheme://router/login/"]), [true, true, false]),
    ]

    @Test func `a scope that is no pattern is refused`() throws {
        let router = try router()
        for scope in [InterceptorScope.patterns(["scheme://router/:"]), .allBut(["<"]), .subtree("a://..")] {
            #expect(throws: RegistrationError.self) { try router.intercept(scope: scope) { _ in .proceed } }
        }
    }

    @Test(arguments: scopes)
    func `a scope says which opens an interceptor sees`(scope: InterceptorScope, seen: [Bool]) async throws {
        let router = try router()
        try router.intercept(scope: scope) { _ in .stop(reason: "seen") }
        var stopped: [Bool] = []
        for path in ["orders", "orders/7", "login"] {
            stopped.append(await !router.open("scheme://router/\(path)").isSuccess)
        }
        #expect(stopped == seen)
    }

    @Test func `a redirect opens another URL as a hop and the caller's parameters go along`() async throws {
        let router = try router()
        try router.intercept("login", scope: .subtree("scheme://router/orders")) { request in
            .redirect(to: "scheme://router/login?back=\(request.parameters["id"]?.stringValue ?? "")")
        }
        let opening = await router.open("scheme://router/orders/7?x=1", parameters: ["c": 1])
        #expect(opening.route == "scheme://router/login")
        #expect(opening.hops == ["scheme://router/login?back=7"])
        #expect(opening.value?["params"] == ["back": "7", "c": 1])
    }

    @Test func `interceptors that send each other in a circle are ended`() async throws {
        let router = try router()
        try router.intercept { request in
            .redirect(
                to: request.url.text.hasSuffix("login") ? "scheme://router/orders" : "scheme://router/login")
        }
        let opening = await router.open("scheme://router/orders")
        #expect(opening.code == .cycle)
        #expect(opening.hops.count == 8)
        let growing = Router()
        try growing.register("a://**") { _ in .opened() }
        try growing.intercept { request in .redirect(to: request.url.text + "/x") }
        #expect(await growing.open("a://x").code == .chain)
    }

    @Test func `a redirect may only lead where an open may`() async throws {
        let router = try router()
        for target in ["evil://x", "https://example.com", "scheme://services?protocol=P&method=m"] {
            let handle = try router.intercept { _ in .redirect(to: target) }
            #expect(await router.open("scheme://router/orders").code == .notAllowed)
            handle.cancel()
        }
    }

    @Test func `a rewrite is what the next interceptor and the handler see`() async throws {
        let router = try router()
        let seen = Guarded<JSONValue?>(nil)
        try router.intercept(priority: 1) { _ in .rewrite(["user": "Ann", "secret": .null]) }
        try router.intercept { request in
            seen.withLock { $0 = request.parameters["user"] }
            return .proceed
        }
        let opening = await router.open("scheme://router/orders?secret=1&user=Eve")
        #expect(opening.value?["params"] == ["user": "Ann"])
        #expect(seen.withLock { $0 } == "Ann")
    }

    @Test func `an interceptor that takes too long ends the open with a deadline`() async throws {
        let router = try router()
        let gate = Gate()
        try router.intercept("slow", deadline: .milliseconds(5)) { _ in
            await gate.wait()
            return .proceed
        }
        let opening = await router.open("scheme://router/orders")
        #expect(opening.code == .deadline)
        #expect(opening.detail.contains("slow"))
        gate.open()
    }
}
