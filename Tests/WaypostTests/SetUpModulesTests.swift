import TestSupport
import Testing
import Threading

@testable import Waypost
@testable import WaypostTools

/// Adds to its router what others go through, and keeps no router.
private final class Guarding: RouteModule {
    let name = "guarding"

    func setUp(in router: Router) async throws {
        try router.intercept("guard", scope: .subtree("a://b")) { _ in .stop(reason: "closed") }
        router.willOpen("moved") { $0.url == "a://old" ? .open("a://new") : .proceed }
        try router.register("a://new") { _ in .opened("new") }
        try router.relocate([
            RelocationLayer(
                name: "own", entries: [RelocationEntry(.replace(origin: "a://older", target: "a://new"))])
        ])
    }
}

@Suite(.patient) struct `What a module adds to its router` {
    @Test func `interceptors, hooks, routes and maps of a set-up hold for the open that waited for it`()
        async throws
    {
        let router = Router(configuration: RouterConfiguration(registersLinked: false))
        try router.register("a://b/c") { _ in .opened("b") }
        router.declare([Guarding()])
        #expect(await router.open("a://b/c").outcome == .intercepted(by: "guard", reason: "closed"))
        #expect(await router.open("a://old").value == "new")
        #expect(await router.open("a://older").value == "new")
    }

    @Test func `a router and its module end with their last owner`() async throws {
        let module = Guarding()
        weak var kept: Router?
        do {
            let router = Router(configuration: RouterConfiguration(registersLinked: false))
            kept = router
            router.declare([module])
            try await router.load()
            #expect(await router.open("a://new").isSuccess)
        }
        #expect(kept == nil)
        _ = module
    }
}

@Suite(.patient) struct `Set up modules` {
    final class Log: Sendable {
        let names = Guarded<[String]>([])
        func add(_ name: String) { names.withLock { $0.append(name) } }
        var all: [String] { names.withLock { $0 } }
    }

    /// Opens once, for all who wait and all who come later.
    final class Gate: Sendable {
        private let (stream, continuation) = AsyncStream<Never>.makeStream()
        func open() { continuation.finish() }
        func wait() async { for await _ in stream {} }
    }

    struct Module: RouteModule {
        var name: String
        var dependencies: [String] = []
        var routes: [Route] = []
        var services: [ExposedService] = []
        var providers: [ServiceProvider] = []
        var log = Log()
        var failure: (any Error)?
        var run: @Sendable () async throws -> Void = {}
        func setUp() async throws {
            log.add(name)
            try await run()
            if let failure { throw failure }
        }
    }

    struct Broken: Error {}
    struct Counter: Sendable {
        var first = 0
        func next() -> Int { first + 1 }
    }

    /// Without a deadline: a machine with much to do must not end an open.
    static func router() -> Router {
        Router(configuration: RouterConfiguration(handlerDeadline: nil, registersLinked: false))
    }

    static func route(_ pattern: String, name: String? = nil) -> Route {
        Route(RouteKey(pattern), name: name) { _ in .opened() }
    }

    static func service(_ name: String, first: Int = 0) -> ExposedService {
        ExposedService(name, make: { Counter(first: first) }) {
            Exposed("next()") { (counter: Counter) in counter.next() }
        }
    }

    @Test func `modules are set up once, at the first open, behind what they need`() async throws {
        let router = Self.router()
        let log = Log()
        router.declare([
            Module(
                name: "Orders", dependencies: ["Login", "Store"], routes: [Self.route("a://orders")], log: log
            ),
            Module(name: "Login", dependencies: ["Store"], log: log), Module(name: "Store", log: log),
        ])
        #expect(log.all.isEmpty)
        #expect(router.modulesLoading == ["Orders", "Login", "Store"])
        let codes = await withTaskGroup { group in
            for _ in 0..<16 { group.addTask { await router.open("a://orders").code.number } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == Array(repeating: 0, count: 16))
        #expect(log.all == ["Store", "Login", "Orders"])
        router.declare([Module(name: "Late", dependencies: ["Login"], log: log)])
        #expect(try await router.load().isEmpty)
        #expect(log.all == ["Store", "Login", "Orders", "Late"])
        #expect(router.modulesLoading.isEmpty)
    }

    @Test func `a call does not run what is declared after it has looked whether it must wait`() async {
        let (registry, log) = (ServiceRegistry(), Log())
        let service = ExposedService("Orders", make: { Counter() }) {
            Exposed("next()") { (counter: Counter) in
                log.add("called")
                return counter.next()
            }
        }
        // Declared in the very moment in which the call asks, and not set up.
        let modules = ServiceRegistry.Modules(
            mustWait: { _ in
                try? registry.expose(service)
                return false
            }, wait: { _, _, _ in nil })
        registry.wait(for: modules, of: ObjectIdentifier(registry))
        guard case .failure(let failure) = await ending({ try await registry.call("Orders", "next") }) else {
            Issue.record("the call ran")
            return
        }
        #expect(failure.code == .noService)
        #expect(log.all.isEmpty)
    }

    @Test func `what is declared is visible before it is set up`() throws {
        let router = Self.router()
        let log = Log()
        router.declare([
            Module(
                name: "Orders", routes: [Self.route("shop://orders/:id", name: "OrderPage")],
                services: [Self.service("Orders")], log: log)
        ])
        #expect(router.canOpen("shop://orders/1"))
        #expect(router.resolve("shop://orders/1").route == "shop://orders/:id")
        #expect(router.resolve("scheme://services?protocol=Orders&method=next").method?.name == "next()")
        #expect(router.check(declared: router.routes).isClean)
        #expect(router.export.routes.map(\.path) == ["shop://orders/:id"])
        #expect(router.services.services.map(\.name) == ["Orders"])
        #expect(router.knows("OrderPage"))
        let report = try router.relocate([
            RelocationLayer(
                name: "agent", entries: [.init(.replace(origin: "shop://old", target: "shop://orders/1"))])
        ])
        #expect(report.inactive.isEmpty)
        #expect(log.all.isEmpty)
    }

    @Test func `one that fails takes only its own routes and services with it`() async throws {
        let router = Self.router()
        let log = Log()
        router.declare([
            Module(
                name: "Bad", routes: [Self.route("a://bad")], services: [Self.service("Bad")], log: log,
                failure: Broken()),
            Module(
                name: "Needy", dependencies: ["Bad"], routes: [Self.route("a://needy")], log: log),
            Module(
                name: "Good", routes: [Self.route("a://good")], services: [Self.service("Good")], log: log),
        ])
        for (url, module) in [("a://bad", "Bad"), ("a://needy", "Needy")] {
            let opening = await router.open(url)
            #expect(opening.code == .module)
            #expect(opening.detail.hasPrefix("module \(module): "))
            #expect(opening.detail.contains("Broken()"))
            #expect(router.resolve(url).error?.code == .module)
        }
        #expect(await router.open("a://good").isSuccess)
        #expect(await router.open("scheme://services?protocol=Bad&method=next").code == .module)
        #expect(await router.open("scheme://services?protocol=Good&method=next").value == 1)
        guard
            case .failure(let failure) = await ending({
                try await router.services.call("Bad", "next", deadline: nil)
            })
        else {
            Issue.record("a module that failed was called")
            return
        }
        #expect(failure.code == .module)
        #expect(router.moduleFailures.map(\.module) == ["Bad", "Needy"])
        #expect(try await router.load() == router.moduleFailures)
        #expect(router.check().findings(.failedModule).map(\.subject) == ["Bad", "Needy"])
        #expect(log.all == ["Bad", "Good"])
    }

    @Test func `a corrected one takes the place of one that failed`() async throws {
        let router = Self.router()
        router.declare([
            Module(
                name: "Orders", routes: [Self.route("a://wrong")], services: [Self.service("Orders")],
                providers: [ServiceProvider(Gate.self, name: "gate") { Gate() }], failure: Broken()),
            Module(name: "Needy", dependencies: ["Orders"], routes: [Self.route("a://needy")]),
        ])
        #expect(try await router.load().count == 2)
        func fetching() -> Code? {
            #expect(throws: Failure.self) { try router.services.fetch(named: "gate") }?.code
        }
        #expect(fetching() == .module)
        router.declare([
            Module(
                name: "Orders", routes: [Self.route("a://right")],
                services: [Self.service("Orders", first: 41)])
        ])
        #expect(fetching() == .noService)
        #expect(try await router.load().isEmpty)
        #expect(router.routes.map(\.path) == ["a://needy", "a://right"])
        #expect(await router.open("a://needy").isSuccess)
        #expect(try await router.services.call("Orders", "next", deadline: nil) == 42)
    }

    static let refused: [([Route], [ExposedService])] = [
        ([route("a://new"), route("a://held")], [service("New")]),
        ([route("a://new"), route("a://:")], [service("New")]),
        ([route("a://new")], [service("New"), service("Held")]),
        ([route("a://new")], [service("New"), service("New")]),
    ]

    @Test(arguments: 0..<4)
    func `a registration that fails leaves nothing half done`(number: Int) async throws {
        let (routes, services) = Self.refused[number]
        let router = Self.router()
        try router.register("a://held") { _ in .opened() }
        try router.services.expose(Self.service("Held"))
        router.declare([Module(name: "Orders", routes: routes, services: services)])
        #expect(router.moduleFailures.map(\.module) == ["Orders"])
        #expect(router.routes.map(\.path) == ["a://held"])
        #expect(router.services.services.map(\.name) == ["Held"])
        #expect(await router.open("a://held").isSuccess)
        router.declare([
            Module(name: "Orders", routes: [Self.route("a://new")], services: [Self.service("New")])
        ])
        #expect(router.moduleFailures.isEmpty)
        #expect(await router.open("a://new").isSuccess)
        #expect(try await router.services.call("New", "next", deadline: nil) == 1)
    }

    static let wrong: [([(String, [String])], [String], String)] = [
        ([("A", ["B"]), ("B", ["A"]), ("C", [])], ["A", "B"], "A → B → A"),
        ([("A", ["X"]), ("B", ["A"]), ("C", ["D"]), ("D", [])], ["A", "B"], "needs X"),
        ([("C", []), ("D", ["A"]), ("A", ["A"])], ["D", "A"], "A → A"),
    ]

    @Test(arguments: wrong)
    func `modules that cannot be ordered fail, and only they`(
        modules: [(String, [String])], failed: [String], part: String
    ) async {
        let router = Self.router()
        router.declare(
            modules.map {
                Module(name: $0.0, dependencies: $0.1, routes: [Self.route("a://\($0.0)")])
            })
        for (name, _) in modules {
            let opening = await router.open("a://\(name)")
            #expect(opening.code == (failed.contains(name) ? .module : .ok))
        }
        #expect(router.moduleFailures.map(\.module) == failed)
        #expect(router.moduleFailures.contains { $0.reason.contains(part) })
    }

    @Test func `a module that was missing may be declared later`() async {
        let router = Self.router()
        router.declare([Module(name: "A", dependencies: ["B"], routes: [Self.route("a://a")])])
        #expect(await router.open("a://a").code == .module)
        router.declare([Module(name: "B")])
        #expect(await router.open("a://a").isSuccess)
    }

    @Test func `the first of two of one name counts`() async {
        let router = Self.router()
        router.declare([
            Module(name: "A", routes: [Self.route("a://first")]),
            Module(name: "A", routes: [Self.route("a://second")]),
        ])
        #expect(await router.open("a://first").isSuccess)
        #expect(await router.open("a://second").code == .noRoute)
        #expect(router.moduleFailures.map(\.reason) == ["it is declared twice; the first one counts"])
    }

    @Test(arguments: [false, true])
    func `an open waits for a slow module no longer than its deadline`(isTimedByCaller: Bool) async throws {
        let gate = Gate()
        let router = Self.router()
        try router.register("a://other") { _ in .opened() }
        router.declare([
            Module(name: "Quick"),
            Module(name: "Slow", services: [Self.service("Slow")], run: { await gate.wait() }),
        ])
        let context = OpenContext(deadline: .milliseconds(20), isTimedByCaller: isTimedByCaller)
        let opening = await router.open("a://other", context: context)
        #expect(opening.code == .deadline)
        #expect(opening.detail.contains("module Slow"))
        let call = await ending {
            try await router.services.call(
                "Slow", "next", context: context)
        }
        guard case .failure(let failure) = call else {
            Issue.record("\(call)")
            return
        }
        #expect(failure.code == .deadline)
        #expect(failure.detail.contains("module Slow"))
        #expect(router.modulesLoading == ["Slow"])
        gate.open()
        #expect(try await router.load().isEmpty)
        #expect(await router.open("a://other", context: OpenContext(deadline: .seconds(60))).isSuccess)
        #expect(try await router.services.call("Slow", "next", deadline: nil) == 1)
    }

    @Test func `an open that is canceled while it waits for modules ends`() async throws {
        let gate = Gate()
        let router = Self.router()
        router.declare([Module(name: "Slow", run: { await gate.wait() })])
        let opening = Task { await router.open("a://x", context: OpenContext(deadline: .seconds(60))) }
        let loading = Task { try await router.load() }
        opening.cancel()
        loading.cancel()
        #expect(await opening.value.code == .canceled)
        await #expect(throws: CancellationError.self) { try await loading.value }
        gate.open()
        #expect(try await router.load().isEmpty)
    }

    @Test func `an interceptor of a set-up guards the first open of any route`() async throws {
        let router = Self.router()
        try router.register("a://secret") { _ in .opened() }
        router.declare([
            Module(
                name: "Guard",
                run: { _ = try router.intercept("guard") { _ in .stop(reason: "closed") } })
        ])
        #expect(await router.open("a://secret").code == .intercepted)
    }

    @Test func `a module may open URLs and call services while it is set up`() async throws {
        let router = Self.router()
        let log = Log()
        try router.register("a://early") { _ in .opened() }
        try router.services.expose(Self.service("Early"))
        router.declare([
            Module(name: "Needed", routes: [Self.route("a://needed")]),
            Module(
                name: "Opener", dependencies: ["Needed"], routes: [Self.route("a://late")], log: log,
                run: {
                    guard await router.open("a://early").isSuccess, await router.open("a://needed").isSuccess,
                        try await router.services.call("Early", "next", deadline: nil) == 1
                    else { throw Broken() }
                    // Not set up: neither itself nor what comes after it.
                    for url in ["a://late", "a://after"] { log.add("\(await router.open(url).code)") }
                }),
            Module(name: "After", routes: [Self.route("a://after")]),
        ])
        #expect(await router.open("a://late").isSuccess)
        #expect(await router.open("a://after").isSuccess)
        #expect(log.all == ["Opener", "503 MODULE", "503 MODULE"])
    }

    @Test func `a change of what is registered is heard of once, outside all locks`() throws {
        let router = Self.router()
        let log = Log()
        // It changes something itself, which would hang in a lock.
        let handle = router.onRegistrationChange {
            log.add("\(router.routes.count) \(router.services.services.count)")
        }
        router.declare([Module(name: "A", routes: [Self.route("a://a")], services: [Self.service("A")])])
        try router.register("a://b") { _ in .opened() }
        try router.register(.destination("Page") { _ in .opened() })
        router.unregister("a://b")
        try router.services.expose(Self.service("B"))
        router.services.unregister(named: "B")
        _ = try router.relocate([])
        #expect(log.all == ["1 1", "2 1", "2 1", "1 1", "1 2", "1 1"])
        handle.cancel()
        try router.register("a://c") { _ in .opened() }
        #expect(log.all.count == 6)
    }
}
