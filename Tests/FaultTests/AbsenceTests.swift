import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `A long absence` {
    @Test func `what the broker kept meanwhile, over its own restart, runs once and in order`() async throws {
        let broker = try await TestBroker.start([
            "allow_anonymous true", "persistence true", "persistence_location @dir/",
        ])
        let arguments = ["--demo", "--intake-rate", "0"]
        var agent = try AgentProcess("k1", broker: broker.url, arguments: arguments)
        try await agent.online()
        try await agent.kill()

        let sender = try await Backend(broker: broker.url)
        let expires = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
        for number in 0..<100 {
            try await sender.publish(
                #"{"id":"c\#(number)","exp":\#(expires),"type":"call","service":"LedgerService","#
                    + #""method":"append","args":["entry-\#(number)"]}"#,
                to: "waypost/v1/k1/cmd/me")
        }
        await sender.disconnect()
        try await broker.restart()

        let backend = try await Backend(broker: broker.url)
        agent = try AgentProcess(
            "k1", broker: broker.url, directory: agent.directory, arguments: arguments)
        try await backend.wait(for: "100 replies") { seen in
            Set(seen.compactMap(Self.answered)).count == 100
        }
        #expect(backend.seen.compactMap(Self.answered).count == 100)
        try await agent.online()
        #expect(try await agent.terminate() == 0)
        let ledger = try String(contentsOfFile: agent.directory + "/ledger.txt", encoding: .utf8)
            .split(separator: "\n").map(String.init)
        #expect(ledger == (0..<100).map { "entry-\($0)" })
        await backend.disconnect()
    }

    /// The connection stays open and nothing answers: only the keepalive tells.
    @Test func `a broker that stands still is noticed, and served again when it goes on`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agent = try AgentProcess("k1", broker: broker.url, arguments: ["--demo", "--keepalive", "5"])
        try await agent.online()
        let watcher = try await Backend(broker: broker.url)
        let first = try await watcher.message(on: "waypost/v1/k1/state") { $0["state"] == "online" }
        await watcher.disconnect()
        let epoch = try #require(first["epoch"]?.intValue)
        broker.pause()
        try await agent.printed("nothing was received for a keepalive interval")
        broker.resume()
        let backend = try await Backend(broker: broker.url)
        let state = try await backend.message(on: "waypost/v1/k1/state") { state in
            state["state"] == "online" && (state["epoch"]?.intValue ?? 0) > epoch
        }
        #expect(state["why"] == "birth")
        let reply = try await backend.command(
            #"{"id":"c1","type":"open","url":"scheme://router/demo"}"#, to: "k1")
        #expect(reply.code == .ok)
        #expect(try await agent.terminate() == 0)
        await backend.disconnect()
    }

    private static func answered(_ seen: Backend.Seen) -> String? {
        guard seen.topic == "waypost/v1/k1/reply/me", let json = seen.json, json["status"] == "ok" else {
            return nil
        }
        return json["id"]?.stringValue
    }
}
