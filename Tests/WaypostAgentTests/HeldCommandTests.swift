import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite final class `A command that an interceptor holds`: Sendable {
    private let gate = OpenGate("login")
    private let isLoggedIn = Guarded(false)
    private let runs = Guarded(0)

    private func router() throws -> Router {
        let router = Router()
        try router.register("a://orders") { [self] _ in
            runs.withLock { $0 += 1 }
            return .opened()
        }
        try router.intercept("guard", scope: .patterns(["a://orders"])) { [self] _ in
            isLoggedIn.withLock(\.self) ? .proceed : .wait(for: gate, atMost: .seconds(86_400))
        }
        return router
    }

    private func open(_ id: String) -> String { #"{"id":"\#(id)","type":"open","url":"a://orders"}"# }

    private func held(_ harness: AgentHarness) -> [JSONValue] {
        harness.agent.health.json["waiting"]?["gates"]?.arrayValue ?? []
    }

    @Test func `does not come to its deadline, is shown, and goes on`() async throws {
        let harness = try await AgentHarness(router: router()) { $0.limits.handlerDeadline = .seconds(10) }
        let exp = TurnedClock.start + 7_200_000
        harness.receive(
            #"{"id":"c1","type":"open","url":"a://orders","exp":\#(exp)}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("held") { !held($0).isEmpty }
        #expect(held(harness).first?["ref"] == "c1" && held(harness).first?["from"] == "me")
        harness.clock.advance(3_600_000)
        // The sender learns that it will take longer, and then that it is done.
        _ = try await harness.published.first("accepted") { message in
            message.topic == "waypost/v1/k1/reply/me"
                && (try? JSONValue(parsing: message.payload))?["status"] == "accepted" ? true : nil
        }
        #expect(harness.replies(to: "c1").isEmpty)
        isLoggedIn.withLock { $0 = true }
        gate.open()
        #expect(try await harness.reply(to: "c1").code == .ok)
        #expect(held(harness).isEmpty)
        try await harness.close()
    }

    @Test func `does not hold up its lane, nor those of others`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(open("c1"), on: "waypost/v1/k1/cmd/me")
        try await harness.until("held") { !held($0).isEmpty }
        // In the same lane, of the same sender and of another.
        let call = #""type":"call","service":"None","method":"none"}"#
        #expect(try await harness.command(#"{"id":"c2",\#(call)"#).code == .noService)
        #expect(try await harness.command(#"{"id":"c3",\#(call)"#, from: "other").code == .noService)
        #expect(harness.replies(to: "c1").isEmpty)
        isLoggedIn.withLock { $0 = true }
        gate.open()
        #expect(try await harness.reply(to: "c1").code == .ok)
        #expect(try await harness.command(#"{"id":"c4",\#(call)"#).code == .noService)
        try await harness.close()
    }

    @Test func `can be canceled`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(open("c1"), on: "waypost/v1/k1/cmd/me")
        try await harness.until("held") { !held($0).isEmpty }
        #expect(try await harness.command(#"{"id":"c2","type":"cancel","target":"c1"}"#).code == .ok)
        #expect(try await harness.reply(to: "c1").code == .canceled)
        #expect(runs.withLock(\.self) == 0)
        try await harness.close()
    }

    @Test func `runs once when the gate is opened while the agent stops`() async throws {
        for round in 1...10 {
            isLoggedIn.withLock { $0 = false }
            let directory = NSTemporaryDirectory() + "waypost-held-\(UUID().uuidString)"
            let first = try await AgentHarness(directory: directory, router: router())
            first.receive(open("c1"), on: "waypost/v1/k1/cmd/me")
            try await first.until("held") { !held($0).isEmpty }
            async let isClosed: Void = first.close()
            isLoggedIn.withLock { $0 = true }
            gate.open()
            try await isClosed
            let second = try await AgentHarness(directory: directory, router: router())
            // It ran before the stop, or runs now.
            if first.replies(to: "c1").isEmpty { _ = try await second.reply(to: "c1") }
            #expect((first.replies(to: "c1") + second.replies(to: "c1")).allSatisfy { $0.code == .ok })
            #expect(runs.withLock(\.self) == round)
            try await second.close()
        }
    }

    @Test func `does not hold up a stop, and runs at the next start`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-held-\(UUID().uuidString)"
        let first = try await AgentHarness(directory: directory, router: router())
        first.receive(open("c1"), on: "waypost/v1/k1/cmd/me")
        try await first.until("held") { !held($0).isEmpty }
        try await first.close()
        #expect(first.replies(to: "c1").isEmpty)
        isLoggedIn.withLock { $0 = true }
        let second = try await AgentHarness(directory: directory, router: router())
        #expect(try await second.reply(to: "c1").code == .ok)
        #expect(runs.withLock(\.self) == 1)
        try await second.close()
    }

    @Test func `does not run when its time has passed by then`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(open("c1"), on: "waypost/v1/k1/cmd/me")
        try await harness.until("held") { !held($0).isEmpty }
        harness.clock.advance(61_000)
        isLoggedIn.withLock { $0 = true }
        gate.open()
        #expect(try await harness.reply(to: "c1").code == .expired)
        #expect(runs.withLock(\.self) == 0)
        try await harness.close()
    }

    @Test func `is on disk as held before the next of its lane begins`() async throws {
        let seen = TestSupport.EventLog<InboxState?>()
        let store = Guarded<Store?>(nil)
        let router = try router()
        try router.register("a://look", idempotent: true) { _ in
            let rows = try store.withLock { $0 }?.commit { try $0.unfinished() } ?? []
            seen.append(rows.first { $0.id == "c1" }?.state)
            return .opened()
        }
        let harness = try await AgentHarness(router: router)
        store.withLock { $0 = harness.agent.store }
        let commands = [open("c1"), #"{"id":"c2","type":"open","url":"a://look"}"#]
        harness.link.deliver(
            commands.map {
                MQTTMessage(topic: "waypost/v1/k1/cmd/me", payload: Array($0.utf8), qos: .atLeastOnce)
            })
        #expect(try await harness.reply(to: "c2").code == .ok)
        #expect(seen.events == [.held])
        store.withLock { $0 = nil }
        try await harness.close()
    }

    /// The state directory of an agent that was killed with these commands in one lane.
    private func killed(
        with ids: [String], _ steps: (_ id: String, _ sequence: Int64, Store.Transaction) throws -> Void
    ) throws -> String {
        let directory = NSTemporaryDirectory() + "waypost-held-\(UUID().uuidString)"
        let store = try Store(directory: directory)
        defer { store.close() }
        try store.commit { transaction in
            for (id, sequence) in zip(ids, Int64(1)...) {
                let payload = Array(open(id).utf8)
                _ = try transaction.receive(
                    NewCommand(
                        sequence: sequence, topic: "waypost/v1/k1/cmd/me", id: id,
                        digest: SHA256.digest(of: payload), payload: payload, received: TurnedClock.start,
                        expires: TurnedClock.start + 3_600_000, keepUntil: .max / 4))
                try steps(id, sequence, transaction)
            }
        }
        return directory
    }

    @Test func `is no attempt when another one ends the agent`() async throws {
        let directory = try killed(with: ["c1", "c2", "c3"]) { id, sequence, transaction in
            if id == "c3" {
                try transaction.countAttempt(of: [sequence, sequence])
            } else {
                try transaction.step(sequence, .held, at: 1)
            }
        }
        isLoggedIn.withLock { $0 = true }
        let harness = try await AgentHarness(directory: directory, router: router())
        // The third start of the one that ended the agent was its last.
        #expect(try await harness.reply(to: "c3").code == .interrupted)
        for id in ["c1", "c2"] {
            let reply = try await harness.reply(to: id)
            #expect(reply.code == .ok && reply.attempt == 1, "\(reply)")
        }
        try await harness.close()
    }

    @Test func `counts as started once it goes on`() async throws {
        let directory = try killed(with: ["c1", "c2"]) { id, sequence, transaction in
            try transaction.step(sequence, .held, at: 1)
            if id == "c2" { try transaction.step(sequence, .resumed, at: 1) }
        }
        isLoggedIn.withLock { $0 = true }
        let harness = try await AgentHarness(directory: directory, router: router())
        #expect(try await harness.reply(to: "c1").attempt == 1)
        #expect(try await harness.reply(to: "c2").attempt == 2)
        try await harness.close()
    }
}
