import TestSupport
import Testing
import Threading

@testable import Waypost

@Suite(.patient) struct `Await beforeHandler` {
    /// What happened, in order.
    final class Recorder: Sendable {
        let events = Guarded<[String]>([])
        func add(_ event: String) { events.withLock { $0.append(event) } }
        var all: [String] { events.withLock { $0 } }

        func context(failing error: (any Error)? = nil) -> OpenContext {
            OpenContext(beforeHandler: { start in
                self.add("before \(start.subject) \(start.isIdempotent)")
                if let error { throw error }
            })
        }
    }

    struct Ledger: Sendable { let recorder: Recorder }
    struct Odd: Error {}

    func router(_ recorder: Recorder) throws -> Router {
        let router = Router()
        func handler(_ name: String, _ answer: RouteAnswer = .opened()) -> Route.Handler {
            { _ in
                recorder.add("ran \(name)")
                return answer
            }
        }
        try router.register([
            Route("a://pure", idempotent: true, handler: handler("pure")),
            Route("a://write/:line", priority: 1, idempotent: true, handler: handler("first", .pass)),
            Route("a://write/*", handler: handler("second")),
            Route("a://conditional", redirect: { _ in "a://write/3" }, handler: handler("never")),
            Route("a://intercepted", idempotent: true, handler: handler("never")),
        ])
        _ = try router.intercept("mover", scope: .patterns(["a://intercepted"])) { _ in
            recorder.add("interceptor")
            return .redirect(to: "a://write/4")
        }
        _ = try router.relocate([
            .init(name: "agent", entries: [.init(.replace(origin: "a://old", target: "a://write/5"))])
        ])
        try router.services.expose(
            ExposedService("Ledger", make: { Ledger(recorder: recorder) }) {
                Exposed("append(entry:)") { (ledger: Ledger, entry: String) in
                    ledger.recorder.add("ran append \(entry)")
                }
                Exposed("entries()", idempotent: true) { (_: Ledger) in [String]() }
            })
        return router
    }

    static let order: [(String, [String])] = [
        ("a://pure", ["before a://pure true", "ran pure"]),
        (
            "a://write/1",
            ["before a://write/:line true", "ran first", "before a://write/* false", "ran second"]
        ),
        (
            "a://conditional",
            ["before a://write/:line true", "ran first", "before a://write/* false", "ran second"]
        ),
        (
            "a://intercepted",
            [
                "interceptor", "before a://write/:line true", "ran first", "before a://write/* false",
                "ran second",
            ]
        ),
        (
            "a://old",
            ["before a://write/:line true", "ran first", "before a://write/* false", "ran second"]
        ),
        (
            "scheme://services?protocol=Ledger&method=append&entry=x",
            ["before Ledger.append(entry:) false", "ran append x"]
        ),
    ]

    @Test(arguments: order)
    func `it is awaited for each candidate, after redirects and interceptors`(
        url: String, events: [String]
    ) async throws {
        let recorder = Recorder()
        let opening = try await router(recorder).open(url, context: recorder.context())
        #expect(opening.isSuccess)
        #expect(recorder.all == events)
    }

    static let errors: [(any Error, Code)] = [
        (Failure(.busy, "later"), .busy), (Failure(.disk, "full"), .disk),
        (Failure(.disk, "full"), .disk), (CancellationError(), .canceled), (Odd(), .handlerFailed),
    ]

    @Test(arguments: errors)
    func `when it throws, nothing runs and the outcome is what was thrown`(error: any Error, code: Code)
        async throws
    {
        let recorder = Recorder()
        let router = try router(recorder)
        let context = recorder.context(failing: error)
        for url in ["a://pure", "a://write/1", "scheme://services?protocol=Ledger&method=append&entry=x"] {
            #expect(await router.open(url, context: context).code == code)
        }
        let outcome = await router.open("a://pure", context: context).outcome
        if case .rejected = outcome {
            #expect(error is Failure)
        } else if case .failed = outcome {
            #expect(!(error is Failure))
        } else {
            Issue.record("\(outcome)")
        }
        let call = await ending {
            try await router.services.call(
                "Ledger", "append", arguments: .positional(["x"]), context: context)
        }
        guard case .failure(let failure) = call else {
            Issue.record("\(call)")
            return
        }
        #expect(failure.code == code)
        #expect(!recorder.all.contains { $0.hasPrefix("ran") })
    }

    @Test func `what is refused before does not reach it`() async throws {
        let recorder = Recorder()
        let router = try router(recorder)
        _ = try router.intercept("guard", scope: .patterns(["a://pure"])) { _ in .stop(reason: "closed") }
        for url in ["a://pure", "a://none", "scheme://services?protocol=Ledger&method=none"] {
            #expect(await !router.open(url, context: recorder.context()).isSuccess)
        }
        #expect(recorder.all.isEmpty)
    }

    @Test func `its wait does not count against the deadline`() async throws {
        let clock = CountingClock()
        let router = Router(configuration: RouterConfiguration(clock: clock))
        try router.register("a://slow") { _ in .opened() }
        let timers = Guarded<[Int]>([])
        let context = OpenContext(
            deadline: .seconds(1),
            beforeHandler: { _ in
                for _ in 0..<100 { await Task.yield() }
                timers.withLock { $0.append(clock.sleepers) }
            })
        #expect(await router.open("a://slow", context: context).isSuccess)
        // No timer of the handler was running yet.
        #expect(timers.withLock { $0 } == [0])
    }

    @Test func `a command that is canceled meanwhile does not run`() async throws {
        let recorder = Recorder()
        let router = try router(recorder)
        let opening = Task {
            await router.open(
                "a://pure",
                context: OpenContext(
                    isTimedByCaller: true,
                    beforeHandler: { _ in
                        withUnsafeCurrentTask { $0?.cancel() }
                    }))
        }
        #expect(await opening.value.code == .canceled)
        #expect(recorder.all.isEmpty)
    }
}

/// Counts its sleepers; none wakes before it is cancelled.
private final class CountingClock: Clock, Sendable {
    private let asleep = Guarded(0)
    var sleepers: Int { asleep.withLock { $0 } }
    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        asleep.withLock { $0 += 1 }
        try await Task.sleep(for: .seconds(3600))
    }
}
