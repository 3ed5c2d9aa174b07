import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `Room in the outbox` {
    @Test func `reports beyond the limit are counted exactly, and the count is reported once there is room`()
        async throws
    {
        let house = try House(isOnline: false) { $0.limits.outboxRecords = 2 }
        for number in 1...5 { house.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)") }
        try await house.until("three reports without room") { $0.droppedReports == 3 }

        // Nothing more is taken in while there is no room to report what becomes of it.
        house.receive(#"{"id":"c1","type":"ping"}"#, on: "waypost/v1/k1/cmd/me")
        try await house.until("the refusal without room") { $0.droppedReports == 4 }
        house.agent.outbox.connected(receiveMaximum: 10)
        let refused = try await house.reply(to: "c1")
        #expect(refused.code == .outbox)

        let dropped = try await house.failure { $0.code == .dropped }
        // Three bad commands, and the refusal of the one after them.
        #expect(dropped.count == 4)
        let reports = house.published.events.filter { $0.topic == "waypost/v1/k1/fail" }
        #expect(reports.count == 3)
        #expect(try await house.command(#"{"id":"c2","type":"ping"}"#).code == .ok)
    }

    @Test func `bytes count as well as records`() {
        var quota = OutboxQuota(records: 10, bytes: 5)
        let record = OutboxRecord(sequence: 1, topic: "t", payload: [1, 2, 3, 4, 5], properties: nil)
        let first = quota.admits()
        quota.stored(record)
        let second = quota.admits()
        #expect(first)
        #expect(!second)
        let early = quota.takeDropped()
        quota.removed(1)
        let (dropped, again) = (quota.takeDropped(), quota.takeDropped())
        #expect(early == nil)
        #expect(dropped == 1)
        #expect(again == nil)
    }
}
