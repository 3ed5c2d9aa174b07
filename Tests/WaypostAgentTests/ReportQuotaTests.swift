import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `Space in the outbox` {
    @Test func `reports beyond the limit are counted exactly, and the count is reported once there is space`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false) { $0.limits.outboxRecords = 2 }
        for number in 1...5 { harness.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)") }
        // The last of those that find space may still be on its way to the disk when the third is counted.
        try await harness.until("a full outbox, and three reports without space") {
            $0.agent.journal.counters.droppedReports == 3 && $0.agent.journal.counters.isOutboxFull
        }

        // Nothing more is taken in while there is no space to report what becomes of it.
        harness.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("the refusal without space") { $0.agent.journal.counters.droppedReports == 4 }
        harness.link.connect(receiveMaximum: 10)
        let refused = try await harness.reply(to: "c1")
        #expect(refused.code == .outbox)

        let dropped = try await harness.failure { $0.code == .dropped }
        // Three bad commands, and the refusal of the one after them.
        #expect(dropped.count == 4)
        let reports = harness.published.events.filter { $0.topic == "waypost/v1/k1/fail" }
        #expect(reports.count == 3)
        // The report of what was dropped takes space too, until the broker has it.
        try await harness.until("space") { !$0.agent.journal.isOutboxFull(for: "me") }
        #expect(try await harness.command(#"{"id":"c2","type":"ping"}"#).code == .ok)
        try await harness.close()
    }

    @Test func `one sender fills only its share, and what it lost is said once it has space again`() {
        var quota = ReportQuota(records: 8, bytes: .max, share: 25)
        for sequence in 1...2 { quota.stored(Int64(sequence), bytes: 1, of: "loud") }
        let (loud, other, agent) = (quota.admits(of: "loud"), quota.admits(of: "other"), quota.admits())
        #expect((loud, other, agent) == (false, true, true))
        #expect(quota.fullSenders == ["loud"])
        let early = quota.takeDropped()
        #expect(early == nil)
        quota.removed(1)
        let dropped = quota.takeDropped()
        #expect(dropped?.sender == "loud")
        #expect(dropped?.count == 1)
    }

    @Test func `bytes count as well as records`() {
        var quota = ReportQuota(records: 10, bytes: 5)
        let first = quota.admits()
        quota.stored(1, bytes: 5)
        let second = quota.admits()
        #expect(first)
        #expect(!second)
        let early = quota.takeDropped()?.count
        quota.removed(1)
        let (dropped, again) = (quota.takeDropped()?.count, quota.takeDropped()?.count)
        #expect(early == nil)
        #expect(dropped == 1)
        #expect(again == nil)
    }
}
