import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// A broker that is real, and a connection to it that takes 1 MB a second.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `A slow connection` {
    // All were under way at once, and the ping's answer behind them.
    @Test func `to a real broker has another sender's reply behind one large message, not behind all`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let relay = try SlowRelay(to: broker, bytesPerSecond: nil)
        defer { relay.end() }
        let backend = try await Backend(broker: broker.url)
        let directory = NSTemporaryDirectory() + "waypost-slow-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        // What `entries` returns.
        let line = String(repeating: "x", count: 825_000)
        try Data("\(line)\n".utf8).write(to: URL(fileURLWithPath: directory + "/ledger.txt"))
        let agent = try AgentProcess(
            "k1", broker: relay.url, directory: directory,
            arguments: ["--demo", "--keepalive", "3600", "--handler-deadline", "3600"])
        try await agent.online()

        // It stands still until all results are there, however long they take on a busy machine.
        relay.setRate(bytesPerSecond: 0)
        let exp = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000
        let ids = (1...12).map { "large-\($0)" }
        for id in ids {
            try await backend.publish(
                #"{"id":"\#(id)","exp":\#(exp),"type":"call","service":"LedgerService","method":"entries"}"#,
                to: "waypost/v1/k1/cmd/loud")
        }
        try await ended(ids.count, agent)
        try await backend.publish(#"{"id":"ping","type":"ping"}"#, to: "waypost/v1/k1/cmd/quiet")
        try await ended(ids.count + 1, agent)

        relay.setRate(bytesPerSecond: 1_000_000)
        #expect(try await backend.reply(to: "ping", of: "k1", from: "quiet").code == .ok)
        let topics = finalReplies(backend).map(\.topic)
        let before = topics.prefix { $0 != "waypost/v1/k1/reply/quiet" }
        #expect(before.count <= 1, "\(before.count) large replies came before the ping's")

        relay.setRate(bytesPerSecond: nil)
        for id in ids { #expect(try await backend.reply(to: id, of: "k1", from: "loud").code == .ok) }
        #expect(finalReplies(backend).count { $0.topic == "waypost/v1/k1/reply/loud" } == ids.count)
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    /// The replies so far; on a loaded machine a command may be accepted first.
    private func finalReplies(_ backend: Backend) -> [Backend.Seen] {
        backend.seen.filter { $0.topic.hasPrefix("waypost/v1/k1/reply/") && $0.json?["status"] != "accepted" }
    }

    /// Waits until so many commands have ended with ok.
    private func ended(_ count: Int, _ agent: AgentProcess) async throws {
        var ended = 0
        try await eventually("\(count) results", within: .seconds(300), progress: { ended }) {
            let ending = try await RunningCommand.run([
                "health", "--local", "--state", agent.directory, "--json",
            ])
            let health = try JSONValue(parsing: #require(ending.output.first), limits: .trustedFile)
            ended = Int(health["counters"]?["ended"]?["ok"]?.intValue ?? 0)
            return ended >= count
        }
    }
}
