import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// What may not run twice has its start on disk before its handler runs, however the handler was reached: decided
/// before, from the URL, it was wrong in each of these cases.
@Suite struct `Work that must not be repeated` {
    /// What the store says of a command at the moment in which its handler runs.
    private final class Witness: Sendable {
        let store = Guarded<Store?>(nil)
        let seen = TestSupport.EventLog<InboxState?>()

        func look(at id: String) throws {
            let records = try store.withLock { $0 }?.commit { try $0.unfinished() } ?? []
            seen.append(records.first { $0.id == id }?.state)
        }
    }

    /// A module whose method must not be repeated.
    private struct Ledger: RouteModule {
        let witness: Witness
        var services: [ExposedService] {
            [
                ExposedService("LateLedger", instance: witness) {
                    Exposed("append(_:)") { (witness: Witness, id: String) in try witness.look(at: id) }
                }
            ]
        }
    }

    private func router(_ witness: Witness) throws -> Router {
        let router = Router()
        let handler: Route.Handler = { request in
            try witness.look(at: request.context.ref ?? "")
            return .opened()
        }
        try router.register("scheme://append", name: "Append", handler: handler)
        try router.register("scheme://put", idempotent: true, handler: handler)
        try router.register("scheme://harmless", idempotent: true) { _ in .opened() }
        try router.register("scheme://own-redirect", idempotent: true, redirect: { _ in "scheme://append" }) {
            _ in .opened()
        }
        try router.register("scheme://intercepted", idempotent: true) { _ in .opened() }
        try router.intercept(scope: .patterns(["scheme://intercepted"])) { _ in
            .redirect(to: "scheme://append")
        }
        // The first candidate passes; the second does the work.
        try router.register("scheme://passed/:line", priority: 1, idempotent: true) { _ in .pass }
        try router.register("scheme://passed/:text", handler: handler)
        router.declare([Ledger(witness: witness)])
        return router
    }

    @Test(arguments: [
        (#""type":"open","url":"scheme://append""#, InboxState?.some(.started)),
        (#""type":"open","url":"scheme://own-redirect""#, .started),
        (#""type":"open","url":"scheme://intercepted""#, .started),
        (#""type":"open","url":"scheme://passed/1""#, .started),
        (
            #""type":"open","url":"scheme://nowhere","params":{"route_fallback_url":"scheme://append"}"#,
            .started
        ),
        (#""type":"call","service":"LateLedger","method":"append","args":["c1"]"#, .started),
        (
            #""type":"open","url":"scheme://services?protocol=LateLedger&method=append","params":{"ivar1":"c1"}"#,
            .started
        ),
        // It would run again after a crash in any case, so the disk is not asked, and the broker has it still.
        (#""type":"open","url":"scheme://put""#, nil),
    ])
    func `is on disk as started when its handler runs`(command: String, state: InboxState?) async throws {
        let witness = Witness()
        let harness = try await AgentHarness(router: router(witness))
        witness.store.withLock { $0 = harness.agent.store }
        let reply = try await harness.command("{\"id\":\"c1\",\(command)}")
        #expect(reply.code == .ok, "\(reply)")
        #expect(witness.seen.events == [state])
        witness.store.withLock { $0 = nil }
        try await harness.close()
    }

    @Test func `is on disk as started when a map came between intake and start`() async throws {
        let witness = Witness()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let router = try router(witness)
        try router.register("scheme://busy", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened()
        }
        let harness = try await AgentHarness(router: router)
        witness.store.withLock { $0 = harness.agent.store }
        harness.receive(#"{"id":"c0","type":"open","url":"scheme://busy"}"#, on: "waypost/v1/k1/cmd/me")
        // It waits in its lane, and leads to something harmless until the map is in force.
        harness.receive(#"{"id":"c1","type":"open","url":"scheme://harmless"}"#, on: "waypost/v1/k1/cmd/me")
        harness.receive(
            #"[{"routerType":1,"orginPath":"scheme://harmless","targetPath":"scheme://append"}]"#,
            on: "waypost/v1/k1/map")
        signal.finish()
        #expect(try await harness.reply(to: "c1").code == .ok)
        #expect(witness.seen.events == [.started])
        witness.store.withLock { $0 = nil }
        try await harness.close()
    }

    @Test func `does not begin after its command has ended at its deadline`() async throws {
        let witness = Witness()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let router = Router(configuration: RouterConfiguration(interceptorDeadline: nil))
        try router.register("scheme://append") { _ in
            witness.seen.append(nil)
            return .opened()
        }
        let (passed, hasPassed) = AsyncStream.makeStream(of: Void.self)
        try router.intercept { _ in
            // It does not stop when it is cancelled.
            await Task.detached { for await _ in goAhead { break } }.value
            hasPassed.finish()
            return .proceed
        }
        let harness = try await AgentHarness(router: router) { $0.limits.handlerDeadline = .seconds(1) }
        harness.receive(#"{"id":"c1","type":"open","url":"scheme://append"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("the command to run") { $0.agent.executor.waiting == 1 }
        let turning = Task { while !Task.isCancelled { harness.clock.advance(100); await Task.yield() } }
        #expect(try await harness.reply(to: "c1").code == .deadline)
        turning.cancel()
        signal.finish()
        for await _ in passed {}
        // The lane goes on, so what would have run by now has.
        try router.register("scheme://next", idempotent: true) { _ in .opened() }
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .ok)
        try await harness.close()
        #expect(witness.seen.events.isEmpty)
        #expect(harness.replies(to: "c1").map(\.code) == [.deadline])
    }
}

@Suite struct `After a crash` {
    /// Leaves a directory as an agent leaves it that was killed.
    private func killed(_ rows: (Store.Transaction) throws -> Void) throws -> String {
        let directory = NSTemporaryDirectory() + "waypost-killed-\(UUID().uuidString)"
        let store = try Store(directory: directory)
        try store.commit(rows)
        store.close()
        return directory
    }

    private func receive(_ id: String, lane: String = "main", in transaction: Store.Transaction) throws {
        let payload = "{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"scheme://count\",\"lane\":\"\(lane)\"}"
        _ = try transaction.receive(
            NewCommand(
                topic: "waypost/v1/k1/cmd/me", id: id, digest: SHA256.digest(of: Array(payload.utf8)),
                payload: Array(payload.utf8), received: TurnedClock.start,
                expires: TurnedClock.start + 60_000, keepUntil: TurnedClock.start + 900_000))
    }

    private func router(_ attempts: TestSupport.EventLog<Int>) throws -> Router {
        let router = Router()
        try router.register("scheme://count", idempotent: true) { request in
            attempts.append(request.context.attempt)
            return .opened()
        }
        return router
    }

    @Test func `the attempt is counted, of the first in each lane`() async throws {
        let attempts = TestSupport.EventLog<Int>()
        let directory = try killed { transaction in
            for id in ["a", "b"] { try receive(id, in: transaction) }
            try receive("c", lane: "other", in: transaction)
        }
        let harness = try await AgentHarness(directory: directory, router: router(attempts))
        #expect(try await harness.reply(to: "a").attempt == 2)
        #expect(try await harness.reply(to: "b").attempt == 1)
        #expect(try await harness.reply(to: "c").attempt == 2)
        try await harness.close()
        #expect(attempts.events.sorted() == [1, 2, 2])
    }

    /// What the store says of a command while it runs, and its attempt; at the end nothing is left open.
    private func run(
        _ message: MQTTMessage, after time: Int64 = 0, directory: String
    ) async throws -> (state: InboxState?, attempt: Int) {
        let seen = TestSupport.EventLog<InboxState?>()
        let store = Guarded<Store?>(nil)
        let router = Router()
        try router.register("scheme://count", idempotent: true) { request in
            let open = try store.withLock { $0 }?.commit { try $0.unfinished() } ?? []
            seen.append(open.first?.state)
            return .opened()
        }
        let harness = try await AgentHarness(directory: directory, router: router)
        store.withLock { $0 = harness.agent.store }
        harness.clock.advance(time)
        #expect(harness.link.deliver([message]) == .acknowledge)
        let reply = try await harness.reply(to: "a")
        store.withLock { $0 = nil }
        try await harness.close()
        #expect(seen.events.count == 1)
        return (seen.events.first ?? nil, reply.attempt)
    }

    private func inTheMiddle(_ transaction: Store.Transaction) throws {
        try transaction.setNumber("clean_stop", 0)
    }

    private func message(isDuplicate: Bool = false, qos: QoS = .atLeastOnce) -> MQTTMessage {
        MQTTMessage(
            topic: "waypost/v1/k1/cmd/me",
            payload: Array(#"{"id":"a","type":"open","url":"scheme://count"}"#.utf8), qos: qos,
            isDuplicate: isDuplicate)
    }

    // It ran before it was stored, and ended the agent: that would go on for ever if it did so again.
    @Test func `a command that the broker sends again is on disk before it runs, and counts as started`()
        async throws
    {
        let directory = try killed(inTheMiddle)
        let (state, attempt) = try await run(message(isDuplicate: true), directory: directory)
        #expect(state == .received && attempt == 2)
        // The redelivery may take its time.
        let late = try await run(
            message(isDuplicate: true), after: CrashGuard.time, directory: killed(inTheMiddle))
        #expect(late.state == .received && late.attempt == 2)
    }

    @Test func `any command is on disk before it runs, for the first minute`() async throws {
        let (state, attempt) = try await run(
            message(), after: CrashGuard.time - 1, directory: killed(inTheMiddle))
        #expect(state == .received && attempt == 1)
        let later = try await run(message(), after: CrashGuard.time, directory: killed(inTheMiddle))
        // A slow machine stores it in the background before it runs.
        #expect((later.state == nil || !Sanitizer.isAbsent) && later.attempt == 1)
    }

    @Test func `that is not so after a clean stop, except for what no broker sends again`() async throws {
        func stopped() throws -> String { try killed { try $0.setNumber("clean_stop", 1) } }
        let (state, attempt) = try await run(message(isDuplicate: true), directory: stopped())
        #expect(state == nil && attempt == 1)
        let once = try await run(message(qos: .atMostOnce), directory: stopped())
        #expect(once.state == .received)
    }

    @Test func `a command that may have been started as often as is allowed is interrupted`() async throws {
        let attempts = TestSupport.EventLog<Int>()
        let harness = try await AgentHarness(directory: killed(inTheMiddle), router: router(attempts)) {
            $0.limits.attempts = 1
        }
        harness.link.deliver([message(isDuplicate: true)])
        #expect(try await harness.reply(to: "a").code == .interrupted)
        try await harness.close()
        #expect(attempts.events.isEmpty)
    }

    @Test func `a clean stop is no attempt, however often the agent is restarted`() async throws {
        let attempts = TestSupport.EventLog<Int>()
        let directory = try killed { transaction in
            try receive("a", in: transaction)
            try transaction.setNumber("clean_stop", 1)
        }
        let harness = try await AgentHarness(directory: directory, router: router(attempts))
        #expect(try await harness.reply(to: "a").attempt == 1)
        try await harness.close()
        let store = try Store(directory: directory)
        #expect(try store.commit { try $0.number("clean_stop") } == 1)
    }

    @Test func `a command that ended the agent three times is interrupted and not tried again`() async throws
    {
        let attempts = TestSupport.EventLog<Int>()
        let directory = try killed { transaction in
            try receive("a", in: transaction)
            try transaction.countAttempt(of: [1, 1])
        }
        let harness = try await AgentHarness(directory: directory, router: router(attempts))
        let reply = try await harness.reply(to: "a")
        #expect(reply.code == .interrupted)
        #expect(reply.attempt == 3)
        _ = try await harness.failure { $0.code == .interrupted && $0.ref == "a" }
        try await harness.close()
        #expect(attempts.events.isEmpty)
    }

    @Test func `a command whose time is over by then is not run`() async throws {
        let attempts = TestSupport.EventLog<Int>()
        let directory = try killed { try receive("a", in: $0) }
        let clock = TurnedClock()
        clock.advance(61_000)
        let harness = try await AgentHarness(directory: directory, clock: clock, router: router(attempts))
        #expect(try await harness.reply(to: "a").code == .expired)
        try await harness.close()
        #expect(attempts.events.isEmpty)
    }

    @Test func `a start on disk means interrupted, without a router that knows the route`() async throws {
        let directory = try killed { transaction in
            try receive("a", in: transaction)
            try transaction.step(1, .started(attempt: 1), at: 1)
        }
        let harness = try await AgentHarness(directory: directory, router: Router())
        let reply = try await harness.reply(to: "a")
        #expect(reply.code == .interrupted)
        #expect(reply.attempt == 1)
        try await harness.close()
    }
}
