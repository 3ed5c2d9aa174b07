import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// What was only counted when the agent is told to stop was lost with the process.
@Suite(.timeLimit(.minutes(60))) struct `Counts over a stop` {
    private func restarted(_ harness: AgentHarness) async throws -> AgentHarness {
        try await harness.close()
        return try await AgentHarness(directory: harness.agent.configuration.stateDirectory)
    }

    private func reports(_ harness: AgentHarness, _ code: Code) -> [FailureReport] {
        harness.published.events.filter { $0.topic == "waypost/v1/k1/fail" }
            .compactMap { try? FailureReport(JSONValue(parsing: $0.payload)) }.filter { $0.code == code }
    }

    @Test func `repetitions of a failure are reported before the goodbye`() async throws {
        let harness = try await AgentHarness()
        for _ in 0..<3 { harness.receive("not JSON", on: "waypost/v1/k1/cmd/me") }
        try await harness.close()
        let reports = reports(harness, .badJSON)
        #expect(reports.map(\.count) == [1, 3])
        #expect(Set(reports.map(\.id)).count == 1)
    }

    @Test func `repetitions of a failure are reported by the next start when there is no broker`()
        async throws
    {
        let harness = try await AgentHarness(isOnline: false)
        for _ in 0..<3 { harness.receive("not JSON", on: "waypost/v1/k1/cmd/me") }
        let next = try await restarted(harness)
        _ = try await next.failure { $0.code == .badJSON && $0.count == 3 }
        try await next.close()
        #expect(reports(next, .badJSON).map(\.count) == [1, 3])
    }

    @Test func `maps that came too fast are reported with their number`() async throws {
        let harness = try await AgentHarness { $0.limits.mapRate = 1 }
        for revision in 1...20 {
            harness.receive(#"{"rev":\#(revision),"type":"map","entries":[]}"#, on: "waypost/v1/k1/map")
        }
        try await harness.close()
        #expect(reports(harness, .busy).map(\.count) == [1, 15])
    }

    @Test func `what could not be stored is reported once the disk is back`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        let path = harness.agent.store.path
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        for _ in 0..<3 { harness.receive(#"{"id":"c","type":"ping"}"#, on: "waypost/v1/k1/cmd/me") }
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        let next = try await restarted(harness)
        let report = try await next.failure { $0.code == .disk }
        #expect(report.count >= 3)
        try await next.close()
    }

    @Test func `reports without space are on disk with the commit that had none`() async throws {
        let harness = try await AgentHarness(isOnline: false) { $0.limits.outboxRecords = 2 }
        for number in 1...5 { harness.receive("not JSON", on: "waypost/v1/k1/cmd/sender\(number)") }
        // A slow disk is reported, too.
        var dropped: Int64 = 0
        try await harness.until("three reports without space, on disk") {
            dropped = (try? $0.agent.store.commit { try $0.droppedReports() })?[nil] ?? 0
            return dropped >= 3
        }
        let next = try await restarted(harness)
        #expect(try await next.failure { $0.code == .dropped }.count == dropped)
        try await next.until("no count on disk") {
            (try? $0.agent.store.commit { try $0.droppedReports() }) == [:]
        }
        try await next.close()
    }

    @Test func `events that did not get out are told by the first of the next start`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        for number in 1...3 { harness.agent.events.log(.warning, "Test", "event \(number)") }
        let sequence = harness.agent.events.sequence
        let second = try await restarted(harness)
        // And the line that the agent stops.
        #expect(try await second.event { _ in true }.dropped == sequence + 1)
        let third = try await restarted(second)
        #expect(try await third.event { _ in true }.dropped == 0)
        try await third.close()
    }
}
