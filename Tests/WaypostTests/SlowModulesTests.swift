import TestSupport
import Testing
import Threading

@testable import Waypost
@testable import WaypostTools

@Suite(.patient, .timeLimit(.minutes(60))) struct `Modules that are slow` {
    typealias Module = `Set up modules`.Module
    typealias Gate = `Set up modules`.Gate
    typealias Log = `Set up modules`.Log
    typealias Broken = `Set up modules`.Broken

    /// Its time stands still; a sleep ends when it is told to, or is cancelled.
    final class HeldClock: Clock, Sendable {
        struct Instant: InstantProtocol {
            var offset = Duration.zero
            func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
            func duration(to other: Instant) -> Duration { other.offset - offset }
            static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
        }

        private struct Sleep {
            let number: UInt64
            let length: Duration
            let end: CheckedContinuation<Void, any Error>
        }

        private struct State {
            var last: UInt64 = 0
            var sleeps: [Sleep] = []
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Guarded(State())
        var now: Instant { Instant() }
        var minimumResolution: Duration { .nanoseconds(1) }

        func sleep(until deadline: Instant, tolerance: Duration?) async throws {
            let number = state.withLock { state in
                state.last += 1
                return state.last
            }
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
                        guard !Task.isCancelled else { return nil }
                        state.sleeps.append(
                            Sleep(number: number, length: deadline.offset, end: continuation))
                        defer { state.waiting = [] }
                        return state.waiting
                    }
                    guard let waiting else {
                        continuation.resume(throwing: CancellationError())
                        return
                    }
                    for waiting in waiting { waiting.resume() }
                }
            } onCancel: {
                take { $0.number == number }?.end.resume(throwing: CancellationError())
            }
        }

        /// Ends a sleep of about that length, once there is one.
        func end(_ length: Duration) async {
            func isMeant(_ sleep: Sleep) -> Bool { sleep.length > length * 0.9 && sleep.length <= length }
            while !Task.isCancelled {
                if let sleep = take(isMeant) { return sleep.end.resume() }
                await withTaskCancellationHandler {
                    await withCheckedContinuation { continuation in
                        let isOver = state.withLock { state in
                            if Task.isCancelled || state.sleeps.contains(where: isMeant) { return true }
                            state.waiting.append(continuation)
                            return false
                        }
                        if isOver { continuation.resume() }
                    }
                } onCancel: {
                    let waiting = state.withLock { state in
                        defer { state.waiting = [] }
                        return state.waiting
                    }
                    for waiting in waiting { waiting.resume() }
                }
            }
        }

        private func take(_ which: (Sleep) -> Bool) -> Sleep? {
            state.withLock { state in
                state.sleeps.firstIndex(where: which).map { state.sleeps.remove(at: $0) }
            }
        }
    }

    let clock = HeldClock()
    let gate = Gate()
    let log = Log()

    /// Longer than anything else.
    static let patient = OpenContext(deadline: .seconds(1000))

    /// Without a deadline of its own.
    func router() -> Router {
        Router(
            configuration: RouterConfiguration(handlerDeadline: nil, clock: clock),
            services: ServiceRegistry(clock: clock))
    }

    static func route(_ pattern: RouteKey) -> Route { Route(pattern) { _ in .opened() } }

    /// One whose set-up ends when the gate is open, and not because it is cancelled.
    func hanging(_ name: String = "Hangs", then body: @escaping @Sendable () throws -> Void = {}) -> Module {
        let gate = gate
        return Module(
            name: name, routes: [Self.route(RouteKey("a://\(name)"))],
            services: [`Set up modules`.service(name)],
            run: {
                await Task { await gate.wait() }.value
                try body()
            })
    }

    /// Opens, and comes back when the open ended or waits.
    func begin(_ url: String, on router: Router, _ context: OpenContext = .init()) -> Task<Opening, Never> {
        Task.immediate { await router.open(url, context: context) }
    }

    /// Starts the set-ups, and comes back when one takes so long that others do not wait for it.
    func start(_ router: Router) async {
        let opening = begin("a://free", on: router)
        await clock.end(ModuleLoader.patience)
        #expect(await opening.value.isSuccess)
    }

    func code<Value>(of result: Result<Value, Failure>) -> Code {
        if case .failure(let failure) = result { failure.code } else { .ok }
    }

    @Test func `what needs nothing of one that hangs goes on`() async throws {
        let router = router()
        try router.register(Self.route("a://free"))
        router.declare([
            hanging(), Module(name: "Needy", dependencies: ["Hangs"], routes: [Self.route("a://needy")]),
            Module(
                name: "Good", routes: [Self.route("a://good")],
                services: [`Set up modules`.service("Good")]),
        ])
        await start(router)
        #expect(await router.open("a://good").isSuccess)
        #expect(try await router.services.call("Good", "next", deadline: nil) == 1)
        #expect(router.modulesLoading == ["Hangs", "Needy"])
        #expect(router.moduleFailures.isEmpty)
        let findings = router.check().findings(.failedModule)
        #expect(findings.map(\.subject) == ["Hangs"])
        #expect(findings[0].detail.hasPrefix("module Hangs: setUp has been running for "))

        // What needs it waits for it, and says so.
        for url in ["a://Hangs", "a://needy", "scheme://services?protocol=Hangs&method=next"] {
            let waiting = begin(url, on: router, Self.patient)
            await clock.end(.seconds(1000))
            #expect(await waiting.value.code == .deadline)
            #expect(await waiting.value.detail.contains("the set-up of module Hangs did not end"))
        }
        let waiting = ["a://Hangs", "a://needy"].map { begin($0, on: router) }
        gate.open()
        for opening in waiting { #expect(await opening.value.isSuccess) }
        #expect(try await router.services.call("Hangs", "next", deadline: nil) == 1)
        #expect(router.check().findings(.failedModule).isEmpty)
    }

    @Test func `one whose set-up exceeds its deadline has failed, also when it ends after all`() async throws
    {
        let router = router()
        let ended = Gate()
        try router.register(Self.route("a://free"))
        let log = log
        router.declare([
            hanging {
                log.add(Task.isCancelled ? "canceled" : "not canceled")
                ended.open()
            }, Module(name: "Needy", dependencies: ["Hangs"], routes: [Self.route("a://needy")]),
        ])
        let waiting = begin("a://Hangs", on: router)
        await clock.end(.seconds(30))
        let opening = await waiting.value
        #expect(opening.code == .module)
        #expect(opening.detail == "module Hangs: setUp did not end within 30.0 seconds")
        #expect(await router.open("a://needy").code == .module)
        #expect(await router.open("a://free").isSuccess)
        #expect(router.moduleFailures.map(\.module) == ["Hangs", "Needy"])
        #expect(router.modulesLoading.isEmpty)
        router.declare([Module(name: "Hangs", routes: [Self.route("a://again")], failure: Broken())])
        #expect(try await router.load().count == 2)
        gate.open()
        await ended.wait()
        #expect(log.all == ["canceled"])
        #expect(try await router.load().map(\.module) == ["Hangs", "Needy"])
        router.declare([Module(name: "Hangs", routes: [Self.route("a://again")])])
        #expect(try await router.load().isEmpty)
        #expect(await router.open("a://needy").isSuccess)
    }

    @Test func `a deadline may be longer, or none`() async throws {
        struct Endless: RouteModule {
            let gate: Gate
            var setUpDeadline: Duration? { nil }
            func setUp() async throws { await Task { await gate.wait() }.value }
        }
        struct Quick: RouteModule {
            let gate: Gate
            var setUpDeadline: Duration? { .seconds(7) }
            func setUp() async throws { await Task { await gate.wait() }.value }
        }
        let router = router()
        router.declare([Endless(gate: gate), Quick(gate: gate)])
        let loading = Task.immediate { try await router.load() }
        await clock.end(.seconds(7))
        try await eventually("the failure of Quick") { !router.moduleFailures.isEmpty }
        #expect(router.moduleFailures.map(\.module) == ["Quick"])
        #expect(router.modulesLoading == ["Endless"])
        gate.open()
        #expect(try await loading.value.map(\.module) == ["Quick"])
    }

    @Test func `set-ups that need nothing of each other run at the same time`() async throws {
        let router = router()
        let (gate, log) = (gate, log)
        router.declare([
            Module(name: "Last", dependencies: ["Waits", "Opens"], log: log),
            Module(
                name: "Waits",
                run: {
                    await gate.wait(); log.add("waited")
                }),
            Module(name: "Opens", run: { gate.open() }),
        ])
        #expect(try await router.load().isEmpty)
        #expect(log.all == ["waited", "Last"])
    }

    @Test(arguments: [false, true])
    func `one that is required is waited for by all, and keeps all closed when it fails`(fails: Bool)
        async throws
    {
        struct Guard: RouteModule {
            let run: @Sendable () async throws -> Void
            var isRequired: Bool { true }
            func setUp() async throws { try await run() }
        }
        let router = router()
        try router.register(Self.route("a://secret"))
        try router.services.expose(`Set up modules`.service("Free"))
        let gate = gate
        router.declare([
            Guard {
                await gate.wait()
                if fails { throw Broken() }
                _ = try router.intercept("guard") { _ in .stop(reason: "closed") }
            }
        ])
        let (first, second) = (begin("a://secret", on: router), begin("a://secret", on: router, Self.patient))
        await clock.end(ModuleLoader.patience)
        await clock.end(.seconds(1000))
        #expect(await second.value.code == .deadline)
        #expect(await second.value.detail.contains("module Guard"))
        gate.open()
        #expect(await first.value.code == (fails ? .module : .intercepted))
        #expect(await router.open("a://secret").code == (fails ? .module : .intercepted))
        let call = await ending { try await router.services.call("Free", "next", deadline: nil) }
        #expect(code(of: call) == (fails ? .module : .ok))
        guard fails else { return }
        router.declare([Guard {}])
        #expect(await router.open("a://secret").isSuccess)
    }

    @Test(arguments: ["a://late", "late://x", "scheme://services?protocol=Late&method=next"], [false, true])
    func `what nothing takes yet waits for all`(url: String, hasFallback: Bool) async throws {
        let router = router()
        try router.register(Self.route("a://free"))
        if hasFallback { try router.register("://") { _ in .opened("fallback") } }
        router.declare([
            hanging {
                try router.register([Self.route("a://late"), Self.route("late://x")], replacing: false)
                try router.services.expose(`Set up modules`.service("Late"))
            }
        ])
        await start(router)
        let late = begin(url, on: router, Self.patient)
        await clock.end(.seconds(1000))
        #expect(await late.value.code == .deadline)
        let (known, unknown) = (begin(url, on: router), begin("a://nothing", on: router))
        gate.open()
        #expect(await known.value.isSuccess)
        #expect(await known.value.value != "fallback")
        #expect(await unknown.value.code == (hasFallback ? .ok : .noRoute))
    }

    @Test func `a route of one that is not set up does not redirect before`() async throws {
        let router = router()
        let (gate, log) = (gate, log)
        try router.register([Self.route("a://free"), Self.route("a://target")], replacing: false)
        router.declare([
            Module(
                name: "Slow",
                routes: [
                    Route(
                        "a://from",
                        redirect: { _ in
                            log.add("redirected")
                            return "a://target"
                        }
                    ) { _ in .opened() }
                ],
                run: {
                    await gate.wait()
                    log.add("set up")
                })
        ])
        await start(router)
        let opening = begin("a://from", on: router)
        gate.open()
        #expect(await opening.value.url == "a://target")
        #expect(await opening.value.isSuccess)
        #expect(log.all == ["set up", "redirected"])
    }

    @Test func `what waits sees the routes that its module registers meanwhile`() async throws {
        let router = router()
        try router.register(Self.route("a://free"))
        router.declare([
            hanging {
                try router.register(
                    [Route("a://Hangs", priority: 1) { _ in .opened("registered by the set-up") }],
                    replacing: false)
            }
        ])
        await start(router)
        let opening = begin("a://Hangs", on: router)
        gate.open()
        #expect(await opening.value.value == "registered by the set-up")
    }

    @Test func `the detail of what a set-up throws is in the reason`() async throws {
        let router = router()
        router.declare([Module(name: "Printer", failure: Failure(.handlerFailed, "tray 2 is empty"))])
        #expect(
            try await router.load().map(\.reason) == ["setUp failed: 500 HANDLER_FAILED: tray 2 is empty"])
    }
}

@Suite(.patient, .timeLimit(.minutes(60))) struct `Services of modules` {
    typealias Gate = `Set up modules`.Gate
    typealias Log = `Set up modules`.Log
    typealias Broken = `Set up modules`.Broken
    typealias HeldClock = `Modules that are slow`.HeldClock

    struct Orders: Sendable {
        var count = 3
    }

    struct Other: Sendable {}

    struct Shop: RouteModule {
        var count = 3
        var gate: Gate?
        var run: @Sendable () throws -> Void = {}
        var routes: [Route] {
            [
                Route("a://orders") { request in
                    .opened(.int(Int64(try request.service(Orders.self).count)))
                }
            ]
        }
        var providers: [ServiceProvider] {
            let count = count
            return [ServiceProvider(Orders.self) { Orders(count: count) }]
        }
        func setUp() async throws {
            await gate?.wait()
            try run()
        }
    }

    let clock = HeldClock()

    func router() -> Router {
        Router(
            configuration: RouterConfiguration(handlerDeadline: nil, clock: clock),
            services: ServiceRegistry(clock: clock))
    }

    func failure<Value>(_ body: () async throws -> Value) async -> Failure? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? Failure
        }
    }

    @Test func `are fetched by type and not exposed`() async throws {
        let router = router()
        router.declare([Shop()])
        #expect(router.services.services.isEmpty)
        let early = await failure { try router.services.fetch(Orders.self) }
        #expect(early == Failure(.module, "module Shop is not set up yet"))
        #expect((try? router.services.fetch(named: "Orders")) == nil)
        #expect(await router.open("a://orders").value == 3)
        #expect(try router.services.fetch(Orders.self).count == 3)
        #expect(try router.services.fetch(named: "Orders") is Orders)
        #expect(await failure { try await router.services.call("Orders", "count") }?.code == .noService)
    }

    @Test func `are taken away with their module`() async throws {
        let router = router()
        router.declare([Shop(count: 1, run: { throw Broken() })])
        #expect(try await router.load().count == 1)
        let failed = await failure { try router.services.fetch(Orders.self) }
        #expect(failed?.code == .module)
        #expect(failed?.detail.contains("Broken()") == true)
        router.declare([Shop(count: 2)])
        #expect(try await router.load().isEmpty)
        #expect(try router.services.fetch(Orders.self).count == 2)
    }

    @Test func `are in use in their own set-up, and in no other's`() async throws {
        let router = router()
        let (registry, log, gate) = (router.services, Log(), Gate())
        router.declare([
            Shop(gate: gate, run: { log.add("\(try registry.fetch(Orders.self).count)") }),
            `Set up modules`.Module(
                name: "Reader",
                run: {
                    do { _ = try registry.fetch(Orders.self) } catch { log.add("\(error)") }
                    gate.open()
                }),
        ])
        #expect(try await router.load().isEmpty)
        #expect(log.all == ["503 MODULE: module Shop is not set up yet", "3"])
    }

    @Test func `leave a type that is registered already as it is`() async throws {
        let router = router()
        router.services.register(Orders.self, instance: Orders(count: 7))
        router.declare([Shop()])
        #expect(try router.services.fetch(Orders.self).count == 7)
        #expect(await router.open("a://orders").value == 7)
    }

    @Test func `are fetched when they are set up by who waits`() async throws {
        let router = router()
        let (registry, gate) = (router.services, Gate())
        router.declare([
            Shop(gate: gate, run: { registry.register(Other.self, instance: Other()) })
        ])
        // Of a module, and of none that is known by now.
        let late = Task.immediate {
            await failure { try await registry.fetch(Orders.self, within: .seconds(1000)) }
        }
        await clock.end(.seconds(1000))
        #expect(await late.value?.code == .deadline)
        #expect(await late.value?.detail.contains("module Shop") == true)
        let orders = Task.immediate { try await registry.fetch(Orders.self, within: nil) }
        let other = Task.immediate { try await registry.fetch(Other.self, within: nil) }
        gate.open()
        #expect(try await orders.value.count == 3)
        _ = try await other.value
        #expect(await failure { try await registry.fetch(Int.self, within: nil) }?.code == .noService)
    }

    @Test func `that can't be fetched say why`() async throws {
        let router = router()
        let (registry, gate) = (router.services, Gate())
        router.declare([Shop(gate: gate, run: { throw Broken() })])
        let canceled = Task.immediate {
            await failure { try await registry.fetch(Orders.self, within: nil) }
        }
        canceled.cancel()
        #expect(await canceled.value?.code == .canceled)
        let failed = Task.immediate {
            await failure { try await registry.fetch(Orders.self, within: nil) }
        }
        gate.open()
        #expect(await failed.value?.code == .module)
        #expect(await failed.value?.detail.contains("Broken()") == true)
    }
}
