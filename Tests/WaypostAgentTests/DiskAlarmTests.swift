import Foundation
import MQTTLink
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite(.timeLimit(.minutes(60))) struct `The report that nothing can be stored` {
    @Test func `leaves with each CONNECT until one has been answered, and is always the same`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        func sentWithConnect() -> [[UInt8]] {
            harness.link.delegate.withLock { $0 }?.linkMessagesWithConnect().map(\.payload) ?? []
        }
        let command = #"{"id":"c1","type":"ping"}"#
        #expect(sentWithConnect().isEmpty)
        // The file is gone: as on a full disk, nothing can be committed.
        let path = harness.agent.store.path
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(harness.receive(command, on: "waypost/v1/k1/cmd/me") == .refuse)
        let first = sentWithConnect()
        #expect(first.count == 1)
        // The broker delivers the command at once, and the connection is dropped before it has read the report.
        #expect(harness.receive(command, on: "waypost/v1/k1/cmd/me") == .refuse)
        #expect(sentWithConnect() == first)
        let report = try FailureReport(JSONValue(parsing: first.joined().map { $0 }))
        #expect(report.code == .disk)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        harness.link.connect()
        #expect(sentWithConnect().isEmpty)
        #expect(try await harness.command(command).code == .ok)
        try await harness.close()
    }
}
