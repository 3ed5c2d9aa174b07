import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `A clock that is set` {
    private static let hour: Int64 = 3_600_000

    private func failure(_ harness: AgentHarness, at time: Int64) -> FailureReport {
        FailureReport(id: "f", code: .noRoute, origin: .router, ref: "c1", detail: "no route", at: time)
    }

    @Test func `back does not hold failures back`() async throws {
        let harness = try await AgentHarness()
        let failures = FailureLog(limit: 1_000)
        #expect(failures.occurred(failure(harness, at: harness.clock.now)).count == 1)
        harness.clock.step(-Self.hour)
        #expect(failures.occurred(failure(harness, at: harness.clock.now)).count == 1)
        #expect(failures.occurred(failure(harness, at: harness.clock.now)).isEmpty)
        harness.clock.step(-Self.hour)
        #expect(failures.windowsOver(at: harness.clock.now).map(\.count) == [2])
    }

    @Test func `repetitions whose window was not reported yet are reported before the next one`() async throws
    {
        let harness = try await AgentHarness()
        let failures = FailureLog(limit: 1_000)
        for _ in 0..<3 { _ = failures.occurred(failure(harness, at: harness.clock.now)) }
        harness.clock.advance(FailureLog.window)
        #expect(failures.occurred(failure(harness, at: harness.clock.now)).map(\.count) == [3, 1])
    }

    @Test func `repetitions of two senders are counted apart`() {
        let failures = FailureLog(limit: 1_000)
        func occurred(_ sender: String?) -> Int {
            var report = FailureReport(id: "f", code: .badJSON, origin: .intake, detail: "no JSON", at: 1)
            report.sender = sender
            return failures.occurred(report).count
        }
        #expect(["a", "b", nil, "a", "b", nil].map(occurred) == [1, 1, 1, 0, 0, 0])
    }

    @Test func `evenly lets an id be known for its time, however soon the command has expired`() async throws
    {
        let harness = try await AgentHarness()
        let command = "{\"id\":\"c1\",\"type\":\"ping\",\"exp\":\(TurnedClock.start + 1)}"
        #expect(try await harness.command(command).code == .ok)
        try await harness.untilAllIsAcknowledged()
        harness.clock.advance(Self.hour / 4)
        _ = harness.agent.forgetEndedCommands(after: 0)
        #expect(try harness.agent.store.commit { try $0.inboxUse() }.count == 1)
        harness.clock.advance(1)
        _ = harness.agent.forgetEndedCommands(after: 0)
        #expect(try harness.agent.store.commit { try $0.inboxUse() } == [])
        try await harness.close()
    }

    @Test func `ahead by less than a fault is no reason to forget less`() async throws {
        let harness = try await AgentHarness()
        _ = try await harness.command(#"{"id":"c1","type":"ping"}"#)
        try await harness.untilAllIsAcknowledged()
        harness.clock.step(ClockCheck.maximumStep)
        harness.clock.advance(Self.hour)
        _ = harness.agent.forgetEndedCommands(after: 0)
        #expect(try harness.agent.store.commit { try $0.inboxUse() } == [])
        try await harness.close()
    }

    @Test func `is trusted again when it has gone evenly for a minute, and not before`() {
        var check = ClockCheck(wall: TurnedClock.start, monotonic: 0)
        let looks: [(wall: Int64, monotonic: Int64)] = [
            (60_000, 0), (120_001, 0), (180_000, 59_999), (180_001, 60_000),
        ]
        let found = looks.map { check.compare(wall: TurnedClock.start + $0.wall, monotonic: $0.monotonic) }
        #expect(found == [true, false, false, true])
    }

    // The clock was set while the agent was not there: nobody saw the step.
    @Test(arguments: [hour, 24 * hour])
    func `ahead between two starts makes the agent forget no id early`(step: Int64) async throws {
        let directory = NSTemporaryDirectory() + "waypost-clock-\(UUID().uuidString)"
        let command = #"{"id":"c1","type":"ping"}"#
        let first = try await AgentHarness(directory: directory)
        _ = try await first.command(command)
        try await first.untilAllIsAcknowledged()
        try await first.close()
        let clock = TurnedClock()
        clock.step(step)
        let harness = try await AgentHarness(directory: directory, clock: clock)
        for _ in 0..<14 {
            _ = harness.agent.forgetEndedCommands(after: 0)
            clock.advance(60_000)
        }
        #expect(try await harness.command(command).isDuplicate)
        try await harness.untilAllIsAcknowledged()
        clock.advance(Self.hour)
        _ = harness.agent.forgetEndedCommands(after: 0)
        #expect(try harness.agent.store.commit { try $0.inboxUse() } == [])
        try await harness.close()
    }

    @Test(arguments: [hour, 24 * hour])
    func `ahead makes it forget no id early, so a repeated command does not run again`(step: Int64)
        async throws
    {
        let harness = try await AgentHarness()
        let command = #"{"id":"c1","type":"ping"}"#
        #expect(try await harness.command(command).isDuplicate == false)
        // Before that nothing is forgotten, whatever the clock says.
        try await harness.untilAllIsAcknowledged()
        harness.clock.step(step)
        // Its maintenance comes every few seconds; they see the step, and later a clock that goes evenly again.
        for _ in 0..<14 {
            _ = harness.agent.forgetEndedCommands(after: 0)
            harness.clock.advance(60_000)
        }
        #expect(try await harness.command(command).isDuplicate)
        try await harness.untilAllIsAcknowledged()

        for _ in 0..<10 {
            harness.clock.advance(60_000)
            _ = harness.agent.forgetEndedCommands(after: 0)
        }
        #expect(try harness.agent.store.commit { try $0.inboxUse() } == [])
        try await harness.close()
    }
}
