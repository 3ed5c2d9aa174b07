import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// What somebody removes or overwrites of what the broker keeps of an agent, the agent publishes again.
@Suite(.timeLimit(.minutes(60)))
struct OwnDocumentTests {
    static let documents = Topics.standard.documents(of: "k1").filter { !$0.hasSuffix("/navigation") }

    private func isThere(_ topic: String, in harness: AgentHarness) async throws {
        _ = try await harness.published.first(topic) { $0.topic == topic ? $0 : nil }
    }

    @Test(arguments: documents, ["", #"{"state":"offline","epoch":1}"#])
    func `a document that is removed or overwritten is published again`(
        _ topic: String, _ payload: String
    ) async throws {
        let harness = try await AgentHarness()
        try await isThere(topic, in: harness)
        let count = harness.published.events.count
        harness.receive(payload, on: topic)
        let again = try await harness.published.first("\(topic) again", after: count) {
            $0.topic == topic ? $0 : nil
        }
        #expect(again.retain && !again.payload.isEmpty && again.payload != Array(payload.utf8), "\(again)")
        let line = try await harness.event(after: count) { $0.message.contains(topic) }
        #expect(line.message.contains(payload.isEmpty ? "removed" : "overwrote"), "\(line.message)")
        // It is no message that nobody knows.
        #expect(harness.agent.health.counters["refused"] == .int(0))
        try await harness.close()
    }

    @Test func `what it published itself is not somebody else's, on any version`() async throws {
        for version in [MQTTVersion.v5, .v311] {
            let harness = try await AgentHarness(isOnline: false)
            harness.link.connect(version: version)
            for topic in Self.documents { try await isThere(topic, in: harness) }
            let state = try #require(
                harness.published.events.last { $0.topic == Topics.standard.state(of: "k1") })
            let count = harness.published.events.count { $0.topic == state.topic }
            // As it comes when it subscribes on 3.1.1, and as the broker sends it back.
            harness.link.deliver([MQTTMessage(topic: state.topic, payload: [123, 125], retain: true), state])
            _ = try await harness.command(#"{"id":"c1","type":"ping"}"#)
            #expect(harness.published.events.count { $0.topic == state.topic } == count)
            try await harness.close()
        }
    }

    @Test func `somebody who does so all the time is answered ever less often`() {
        var own = OwnDocuments()
        own.published([1], on: "t")
        var again: [Int64] = []
        var due: Int64?
        for second in Int64(0)..<3_600 {
            let now = second * 1_000
            if let time = due, time <= now {
                again.append(now)
                due = nil
                own.willPublishAgain("t")
                own.published([1], on: "t")
            }
            let time = own.came([UInt8(second % 200) + 2], on: "t", hasEchoes: false, at: now)
            // One that is to come covers all until then.
            #expect(time == nil || due == nil)
            due = due ?? time
        }
        #expect((5...12).contains(again.count), "\(again)")
        for (before, after) in zip(again, again.dropFirst()) { #expect(after - before >= 4_000, "\(again)") }
        #expect(own.came([9], on: "other", hasEchoes: false, at: 0) == nil)
    }

    @Test func `an echo of an older version of its own is its own, where there are echoes`() {
        for hasEchoes in [true, false] {
            var own = OwnDocuments()
            for version in UInt8(1)...3 { own.published([version], on: "t") }
            #expect(own.came([3], on: "t", hasEchoes: hasEchoes, at: 0) == nil)
            #expect((own.came([2], on: "t", hasEchoes: hasEchoes, at: 0) == nil) == hasEchoes)
        }
    }

    @Test func `a broker that does not let it read them takes nothing from its health`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        harness.link.connect(
            granted: Topics.standard.filters(of: "k1", groups: ["fleet"]),
            refused: Topics.standard.documents(of: "k1"))
        let health = try await harness.document("health")
        #expect(health["checks"] != nil)
        #expect(harness.check("subscriptions") == true)
        _ = try await harness.command(#"{"id":"c1","type":"ping"}"#)
        #expect(!harness.published.events.contains { $0.topic.hasSuffix("/fail") })
        try await harness.close()
    }

    @Test func `the goodbye is the last word`() async throws {
        let harness = try await AgentHarness()
        let state = Topics.standard.state(of: "k1")
        try await isThere(state, in: harness)
        harness.agent.willStop(because: "a test")
        harness.receive("", on: state)
        try await harness.close()
        let last = try #require(harness.published.events.last { $0.topic == state })
        #expect(String(decoding: last.payload, as: UTF8.self).contains("shutdown"))
    }
}
