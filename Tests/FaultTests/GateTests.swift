import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// The orders of the demo wait for a login: `scheme://router/orders?wait=SECONDS`.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `Opens that wait at a gate` {
    private static let topic = "waypost/v1/k1/cmd/me"
    private static let login = #"{"id":"login","type":"open","url":"scheme://router/login?user=Ada"}"#
    /// Long after the test.
    private let exp = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000

    /// - Parameter bytes: so many more than it needs.
    private func waitingOpen(_ id: String, bytes: Int = 0) -> String {
        let padding = String(repeating: "p", count: bytes)
        return
            #"{"id":"\#(id)","exp":\#(exp),"type":"open","url":"scheme://router/orders?wait=3600","params":{"p":"\#(padding)"}}"#
    }

    private func wait(forHeld count: Int, _ backend: Backend) async throws {
        try await eventually("\(count) opens to wait") {
            let ping = #"{"id":"\#(UUID().uuidString)","type":"ping"}"#
            let health = try await backend.command(ping, to: "k1", from: "watcher").result
            return health["waiting"]?["gates"]?.arrayValue?.count == count
        }
    }

    // Recovery took the first open of the lane for the one that ended the agent: 9 crashes, and both opens interrupted.
    @Test func `are no attempt when the command behind them ends the agent three times`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        // Kills with -9 what comes to the end of a handler.
        let dies = ["WAYPOST_FAULT": "after-handler"]
        let first = try AgentProcess("k1", broker: broker.url, environment: dies)
        try await first.online()
        for id in ["held-1", "held-2"] { try await backend.publish(waitingOpen(id), to: Self.topic) }
        try await wait(forHeld: 2, backend)
        let put =
            #"{"id":"put","exp":\#(exp),"type":"call","service":"LedgerService","method":"put","args":["k","v"]}"#
        try await backend.publish(put, to: "waypost/v1/k1/cmd/other")
        #expect(try await first.ended() == -SIGKILL)
        for _ in 2...3 {
            let next = try AgentProcess(
                "k1", broker: broker.url, directory: first.directory, environment: dies)
            #expect(try await next.ended() == -SIGKILL)
        }
        let last = try AgentProcess("k1", broker: broker.url, directory: first.directory)
        let interrupted = try await backend.reply(to: "put", of: "k1", from: "other")
        #expect(interrupted.code == .interrupted && interrupted.attempt == 3, "\(interrupted)")
        try await wait(forHeld: 2, backend)
        #expect(try await backend.command(Self.login, to: "k1").code == .ok)
        for id in ["held-1", "held-2"] {
            let reply = try await backend.reply(to: id, of: "k1")
            #expect(reply.code == .ok && reply.attempt == 1, "\(reply)")
        }
        await backend.disconnect()
        #expect(try await last.terminate() == 0)
    }

    // They took the space in which their sender's commands run, and the next of those held up everyone's lane.
    @Test func `take half of the space of their sender, and all that does not wait goes on`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        // 16 KiB for one sender, 8 for those that wait.
        let agent = try AgentProcess(
            "k1", broker: broker.url, arguments: ["--demo", "--running-bytes", "65536"])
        try await agent.online()
        for number in 1...3 {
            try await backend.publish(waitingOpen("held-\(number)", bytes: 2_000), to: Self.topic)
        }
        try await wait(forHeld: 3, backend)
        let refused = try await backend.command(waitingOpen("one-more", bytes: 2_000), to: "k1")
        #expect(refused.code == .busy)
        #expect(refused.detail?.contains("opens of me that wait at gates may use 8192 bytes") == true)
        // All in the lane that they had been in, this one with more bytes than they leave.
        let large =
            #"{"id":"large","type":"call","service":"AppConfigServiceProtocol","method":"openMiniProgram","args":[{"p":"\#(String(repeating: "p", count: 12_000))"}]}"#
        #expect(try await backend.command(large, to: "k1").code == .ok)
        let add = #"{"id":"add","type":"call","service":"CalculatorService","method":"add","args":[2,40]}"#
        #expect(try await backend.command(add, to: "k1", from: "other").code == .ok)
        let others = waitingOpen("others", bytes: 2_000)
        try await backend.publish(others, to: "waypost/v1/k1/cmd/other")
        try await wait(forHeld: 4, backend)

        #expect(try await backend.command(Self.login, to: "k1").code == .ok)
        for number in 1...3 {
            #expect(try await backend.reply(to: "held-\(number)", of: "k1").code == .ok)
        }
        #expect(try await backend.reply(to: "others", of: "k1", from: "other").code == .ok)
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }
}
