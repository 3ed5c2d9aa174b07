import MQTTLink
import Synchronization
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `A long outage` {
    @Test func `failures survive it in order and with their own times, over a restart too`() async throws {
        let clock = TurnedClock()
        func fail(_ numbers: Range<Int>, in harness: AgentHarness) {
            for number in numbers {
                clock.advance(1_000)
                harness.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)")
            }
        }
        let directory: String
        do {
            let before = try await AgentHarness(clock: clock, isOnline: false)
            fail(0..<300, in: before)
            directory = before.agent.configuration.stateDirectory
            try await before.close()
            #expect(!before.published.events.contains { $0.topic.hasSuffix("/fail") })
        }

        let after = try await AgentHarness(directory: directory, clock: clock, isOnline: false)
        fail(300..<400, in: after)
        try await after.until("all reports on disk") { $0.reportsOnDisk >= 400 }
        after.link.connect(receiveMaximum: 20)
        try await after.published.wait(for: "400 reports") { messages in
            messages.count { $0.topic.hasSuffix("/fail") } >= 400
        }
        let reports = try after.published.events.filter { $0.topic.hasSuffix("/fail") }
            .map { try FailureReport(JSONValue(parsing: $0.payload)) }
        #expect(reports.map(\.first) == (1...400).map { TurnedClock.start + Int64($0) * 1_000 })
        #expect(reports.enumerated().allSatisfy { $1.detail.contains("sender\($0):") })
        try await after.close()
    }

    @Test func `log events are dropped first, by level, and those that arrive say exactly how many`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false) {
            ($0.limits.logRate, $0.limits.logPending) = (0, 100)
        }
        for number in 0..<2_000 {
            harness.agent.events.log(.info, "Test", "line \(number)")
            if number % 100 == 0 { harness.agent.events.log(.error, "Test", "error \(number)") }
            if number % 100 == 0 { harness.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)") }
        }
        try await harness.until("all reports on disk") { $0.reportsOnDisk >= 20 }
        #expect(harness.agent.events.dropped > 0)
        harness.link.connect(receiveMaximum: 20)

        let numbered = harness.agent.events.sequence
        // Each message is read once: all of them at each new one would take longer than anything else here.
        let counted = Mutex((messages: 0, events: Int64(0)))
        try await harness.published.wait(for: "every event, or the count of it") { messages in
            counted.withLock { counted in
                let new = messages.dropFirst(counted.messages).flatMap(Self.events)
                counted = (messages.count, counted.events + new.reduce(0) { $0 + 1 + $1.dropped })
                return counted.events >= numbered
            }
        }
        let dropped = harness.agent.events.dropped
        let events = harness.published.events.flatMap(Self.events)
        #expect(events.reduce(0) { $0 + $1.dropped } == dropped)
        #expect(Int64(events.count) + dropped == harness.agent.events.sequence)
        #expect(events.count { $0.level == .error && $0.message.hasPrefix("error ") } == 20)
        try await harness.published.wait(for: "every report") { messages in
            messages.count { $0.topic.hasSuffix("/fail") } == 20
        }
        try await harness.close()
    }

    private static func events(_ message: MQTTMessage) -> [WaypostMessages.LogEvent] {
        guard message.topic.contains("/log/") else { return [] }
        return String(decoding: message.payload, as: UTF8.self).split(separator: "\n")
            .compactMap { try? WaypostMessages.LogEvent(JSONValue(parsing: String($0))) }
    }

    @Test func `a session that the broker lost is reported once a loss`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        func losses(afterConnecting present: Bool) async throws -> Int {
            // Equal failures within ten seconds would be counted together.
            harness.clock.advance(11_000)
            harness.link.connect(sessionPresent: present)
            let id = "p\(harness.clock.now)"
            harness.receive("not JSON", on: "waypost/v1/k1/cmd/\(id)")
            _ = try await harness.failure { $0.detail.contains(id) }
            return harness.published.events.count {
                $0.topic.hasSuffix("/fail")
                    && String(decoding: $0.payload, as: UTF8.self).contains("SESSION_LOST")
            }
        }
        // The first connection ever has no session to lose.
        #expect(try await losses(afterConnecting: false) == 0)
        #expect(try await losses(afterConnecting: true) == 0)
        #expect(try await losses(afterConnecting: false) == 1)
        #expect(try await losses(afterConnecting: true) == 1)
        #expect(try await losses(afterConnecting: false) == 2)
        try await harness.close()
    }
}
