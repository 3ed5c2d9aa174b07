import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// Commands that wait take what `waiting-bytes` counts: their bytes.
///
/// Decoded, small objects take 80 times as much.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct WaitingWeightTests {
    /// Long after the test.
    private let exp = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000

    /// An open of nearly 64 KiB, most of it the smallest objects that there are.
    private func heavyOpen(_ id: String) -> String {
        let head =
            #"{"id":"\#(id)","exp":\#(exp),"type":"open","url":"scheme://router/demo?id=1","params":{"p":["#
        let object = #"{"":0}"#
        let count = (65_000 - head.utf8.count) / (object.utf8.count + 1)
        return head + Array(repeating: object, count: count).joined(separator: ",") + "]}}"
    }

    /// Waits until the agent has so many commands without a result.
    private func wait(for count: Int, _ backend: Backend) async throws {
        var waiting = 0
        try await eventually("\(count) commands that wait", progress: { waiting }) {
            let ping = #"{"id":"\#(UUID().uuidString)","type":"ping"}"#
            let reply = try await backend.command(ping, to: "k1", from: "watcher")
            waiting = Int(reply.result["waiting"]?["commands"]?.intValue ?? 0)
            return waiting == count
        }
    }

    @Test(.enabled(if: Sanitizer.isAbsent, "its own memory counts too"))
    func `many of them take little more than their bytes, after a kill too`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        let arguments = ["--demo", "--handler-deadline", "3600"]
        let first = try AgentProcess("k1", broker: broker.url, arguments: arguments)
        try await first.online()
        let before = try #require(first.peakMemory)
        let topic = "waypost/v1/k1/cmd/ops"
        try await backend.publish(
            #"{"id":"busy","exp":\#(exp),"type":"call","service":"ClockService","method":"sleep","args":[3000000]}"#,
            to: topic)
        let count = 30
        for number in 1...count { try await backend.publish(heavyOpen("h\(number)"), to: topic) }
        // Decoded each of them takes 5 MB.
        let limit = 40_000
        try await wait(for: count + 1, backend)
        let waiting = try #require(first.peakMemory)
        #expect(waiting - before < limit, "\(waiting - before) KiB more")

        try await first.kill()
        let second = try AgentProcess(
            "k1", broker: broker.url, directory: first.directory, arguments: arguments)
        try await second.online(times: 1)
        try await wait(for: count + 1, backend)
        let recovered = try #require(second.peakMemory)
        #expect(recovered - before < limit, "\(recovered - before) KiB more")
        // What waited runs when its turn comes.
        try await backend.publish(#"{"id":"c1","type":"cancel","target":"busy"}"#, to: topic)
        for number in 1...count {
            #expect(try await backend.reply(to: "h\(number)", of: "k1", from: "ops").code == .ok)
        }
        let ended = try #require(second.peakMemory)
        #expect(ended - before < 2 * limit, "\(ended - before) KiB more")
        #expect(try await second.terminate() == 0)
        await backend.disconnect()
    }
}
