import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// A known id is answered from the store, before rate, table, outbox and queue are asked.
@Suite struct `A repeated id` {
    private static let ping = #"{"id":"c1","type":"ping"}"#

    /// Sends `c1` again and expects the stored reply and no other.
    private func expectStored(_ harness: AgentHarness, _ sender: String = "me") async throws {
        let before = harness.published.events.count
        let topic = "waypost/v1/k1/cmd/\(sender)"
        #expect(harness.receive(Self.ping, on: topic) == .acknowledge)
        let reply = try await harness.reply(to: "c1", from: sender, after: before)
        #expect(reply.isDuplicate)
        #expect(Set(harness.replies(to: "c1").map(\.status)) == [.ok])
    }

    @Test func `gets its reply from a sender over its rate`() async throws {
        let harness = try await AgentHarness {
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 2
        }
        #expect(try await harness.command(Self.ping).code == .ok)
        #expect(try await harness.command(#"{"id":"c0","type":"ping"}"#).code == .ok)
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
    }

    // Killed before the broker has the repeated reply, the agent sends it at its next start.
    @Test func `has its reply open on the disk until the broker has it again`() async throws {
        let harness = try await AgentHarness()
        #expect(try await harness.command(Self.ping).code == .ok)
        try await harness.untilAllIsAcknowledged()
        harness.link.answer { $0.topic.contains("/reply/") ? nil : .acknowledged }
        try await expectStored(harness)
        #expect(try harness.agent.store.commit { try !$0.topicsOfUnsentReplies().isEmpty })
        harness.link.disconnect()
        harness.link.answer { _ in .acknowledged }
        harness.link.connect(sessionPresent: true)
        try await harness.untilAllIsAcknowledged()
        try await harness.close()
    }

    @Test func `gets its reply when the table of ids is full`() async throws {
        let harness = try await AgentHarness { $0.limits.dedupeKeys = 1 }
        #expect(try await harness.command(Self.ping).code == .ok)
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
    }

    @Test func `gets its reply when the outbox is full`() async throws {
        let harness = try await AgentHarness { $0.limits.outboxRecords = 1 }
        #expect(try await harness.command(Self.ping).code == .ok)
        harness.link.answer { $0.topic.hasSuffix("/fail") ? nil : .acknowledged }
        harness.receive("not JSON", on: "waypost/v1/k1/cmd/other")
        try await harness.until("a full outbox") { $0.agent.journal.isOutboxFull(for: "me") }
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .outbox)
    }

    @Test func `gets its reply when too many commands wait`() async throws {
        let router = Router()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        try router.register("scheme://slow", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened()
        }
        let harness = try await AgentHarness(router: router) { $0.limits.waitingCommands = 1 }
        #expect(try await harness.command(Self.ping).code == .ok)
        harness.receive(#"{"id":"s1","type":"open","url":"scheme://slow"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("the slow command to run") { $0.agent.executor.waiting == 1 }
        try await expectStored(harness)
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .busy)
        signal.finish()
    }
}

@Suite struct `A batch that can't be stored` {
    // Each delivery took from what the sender may send, so that commands within the rate got BUSY.
    @Test func `does not count against its senders' rate, however often the broker sends it`() async throws {
        let harness = try await AgentHarness {
            $0.limits.intakeRate = 1
            $0.limits.intakeBurst = 10
        }
        let batch = (0..<10).map { number in
            MQTTMessage(
                topic: "waypost/v1/k1/cmd/me",
                payload: Array("{\"id\":\"c\(number)\",\"type\":\"ping\"}".utf8),
                qos: .atLeastOnce)
        }
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        for _ in 0..<20 { #expect(harness.link.deliver(batch) == .refuse) }
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        #expect(harness.link.deliver(batch) == .acknowledge)
        for number in 0..<10 { #expect(try await harness.reply(to: "c\(number)").code == .ok) }
        #expect(try await harness.command(#"{"id":"more","type":"ping"}"#).code == .busy)
        try await harness.close()
    }
}

/// A command may run before it is stored: its id must be known all the same.
@Suite struct `A command that is not stored yet` {
    private func router(_ runs: TestSupport.EventLog<String>) throws -> Router {
        let router = Router()
        try router.register("scheme://count", idempotent: true) { request in
            runs.append(request.context.ref ?? "")
            return .opened("done")
        }
        return router
    }

    private func open(_ id: String, lane: String = "main") -> MQTTMessage {
        MQTTMessage(
            topic: "waypost/v1/k1/cmd/me",
            payload: Array(
                "{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"scheme://count\",\"lane\":\"\(lane)\"}".utf8))
    }

    @Test func `is not acknowledged and runs once, however often the broker sends it to a full disk`()
        async throws
    {
        let runs = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(router: router(runs))
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        for _ in 0..<5 { #expect(harness.link.deliver([open("a")]) == .refuse) }
        // Others are not begun while nothing can be stored.
        for _ in 0..<5 { #expect(harness.link.deliver([open("a"), open("b")]) == .refuse) }
        let before = harness.published.events.count
        harness.link.deliver([open("a", lane: "other")])
        #expect(try await harness.reply(to: "a", after: before).code == .idReused)
        #expect(runs.events == ["a"])
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        let after = harness.published.events.count
        #expect(harness.link.deliver([open("a"), open("b")]) == .acknowledge)
        #expect(try await harness.reply(to: "a", after: after).code == .ok)
        #expect(try await harness.reply(to: "b", after: after).code == .ok)
        #expect(runs.events == ["a", "b"])
        try await harness.close()
    }

    @Test func `is known to another with its id in the same batch`() async throws {
        let runs = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(router: router(runs))
        harness.link.deliver([open("a"), open("a"), open("a", lane: "other"), open("b")])
        #expect(try await harness.reply(to: "b").code == .ok)
        try await harness.until("both ends of it") { $0.replies(to: "a").count == 2 }
        #expect(harness.replies(to: "a").map(\.code).sorted { $0.number < $1.number } == [.ok, .idReused])
        #expect(runs.events.sorted() == ["a", "b"])
        try await harness.close()
    }

    @Test func `is shown to one who asks for it in the same batch`() async throws {
        let runs = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(router: router(runs))
        let question = MQTTMessage(
            topic: "waypost/v1/k1/cmd/me", payload: Array(#"{"id":"q","type":"inspect","target":"a"}"#.utf8))
        harness.link.deliver([open("a"), question])
        let reply = try await harness.reply(to: "q")
        #expect(reply.result["commands"]?[0]?["state"]?.stringValue != nil, "\(reply)")
        try await harness.close()
    }
}

@Suite struct `Gaps in a sender's count` {
    // With a thousand senders known, those after them were not looked at any more, and nothing said so.
    @Test func `are noticed for new senders too, however many there were`() async throws {
        let harness = try await AgentHarness { $0.limits.senders = 8 }
        for number in 0..<100 {
            harness.receive(#"{"id":"a","type":"ping","seq":1}"#, on: "waypost/v1/k1/cmd/sender\(number)")
        }
        #expect(try await harness.command(#"{"id":"n1","type":"ping","seq":1}"#, from: "new").code == .ok)
        #expect(try await harness.command(#"{"id":"n2","type":"ping","seq":3}"#, from: "new").code == .ok)
        #expect(try await harness.failure { $0.code == .sequenceGap }.ref == "n2")
    }

    @Test func `are found up to the largest number`() {
        var senders = SenderTable(maximum: 2, rate: 0, burst: 0)
        let first = senders.gap(before: .max, of: "a", at: 0)
        let second = senders.gap(before: 1, of: "a", at: 0)
        #expect(first == nil)
        #expect(second == .max)
    }
}
