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
        func fail(_ numbers: Range<Int>, in house: House) {
            for number in numbers {
                clock.advance(1_000)
                house.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)")
            }
        }
        let directory: String
        do {
            let before = try House(clock: clock, isOnline: false)
            fail(0..<300, in: before)
            directory = before.agent.configuration.stateDirectory
            await before.close()
            #expect(before.published.events.isEmpty)
        }

        let after = try House(directory: directory, clock: clock, isOnline: false)
        try after.agent.recover()
        fail(300..<400, in: after)
        try await after.until("all reports on disk") { _ in after.agent.outbox.waiting >= 400 }
        after.agent.outbox.connected(receiveMaximum: 20)
        try await after.published.wait(for: "400 reports") { messages in
            messages.count { $0.topic.hasSuffix("/fail") } >= 400
        }
        let reports = try after.published.events.filter { $0.topic.hasSuffix("/fail") }
            .map { try FailureReport(JSONValue(parsing: $0.payload)) }
        #expect(reports.map(\.first) == (1...400).map { TurnedClock.start + Int64($0) * 1_000 })
        #expect(reports.enumerated().allSatisfy { $1.detail.contains("sender\($0):") })
        await after.close()
    }

    @Test func `log events are shed first, by level, and those that arrive say exactly how many`()
        async throws
    {
        let house = try House(isOnline: false) { $0.limits.logRate = 0 }
        for number in 0..<20_000 {
            house.agent.events.log(.info, "Test", "line \(number)")
            if number % 100 == 0 { house.agent.events.log(.error, "Test", "error \(number)") }
            if number % 1_000 == 0 { house.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)") }
        }
        try await house.until("all reports on disk") { _ in house.agent.outbox.waiting >= 20 }
        let dropped = house.agent.events.dropped
        #expect(dropped > 0)
        house.agent.outbox.connected(receiveMaximum: 20)
        house.agent.events.flush()

        let numbered = house.agent.events.sequence
        // Each message is read once: all of them at each new one would take longer than anything else here.
        let told = Mutex((messages: 0, events: Int64(0)))
        try await house.published.wait(for: "every event, or the count of it") { messages in
            told.withLock { told in
                let new = messages.dropFirst(told.messages).flatMap(Self.events)
                told = (messages.count, told.events + new.reduce(0) { $0 + 1 + $1.dropped })
                return told.events >= numbered
            }
        }
        let events = house.published.events.flatMap(Self.events)
        #expect(events.reduce(0) { $0 + $1.dropped } == dropped)
        #expect(Int64(events.count) + dropped == numbered)
        #expect(events.count { $0.level == .error && $0.message.hasPrefix("error ") } == 200)
        #expect(house.published.events.count { $0.topic.hasSuffix("/fail") } == 20)
        await house.close()
    }

    private static func events(_ message: MQTTMessage) -> [WaypostMessages.LogEvent] {
        guard message.topic.contains("/log/") else { return [] }
        return String(decoding: message.payload, as: UTF8.self).split(separator: "\n")
            .compactMap { try? WaypostMessages.LogEvent(JSONValue(parsing: String($0))) }
    }

    @Test func `a session that the broker lost is reported once a loss`() async throws {
        let house = try House()
        let broker = try BrokerURL("mqtt://broker.example.com")
        func losses(afterConnecting present: Bool) async throws -> Int {
            // Equal failures within ten seconds would be counted together.
            house.clock.advance(11_000)
            house.agent.connected(Connection(broker: broker, version: .v5, sessionPresent: present))
            let id = "p\(house.clock.now)"
            house.receive("not JSON", on: "waypost/v1/k1/cmd/\(id)")
            _ = try await house.failure { $0.detail.contains(id) }
            return house.published.events.count {
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
        await house.close()
    }
}
