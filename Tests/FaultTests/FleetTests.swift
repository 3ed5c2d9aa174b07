import CommandSupport
import TestSupport
import Testing
import Waypost

@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `A fleet` {
    private static let names = (1...20).map { "k\($0)" }

    /// The broker keeps nothing over its end: who is there, and what was said, has to come from the agents again.
    @Test func `answers its group, and is there again, spread out, after the broker's crash`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let agents = try Self.names.map {
            try RunningAgent($0, broker: broker.url, arguments: ["--demo", "--group", "lobby"])
        }
        for agent in agents { try await agent.online() }
        try await answer("before", at: broker)

        try await broker.kill()
        // Each tells how long it waits, in tenths of a second: of the first half second there are four, of which
        // twenty agents need not draw each.
        var delays: Set<String> = []
        for agent in agents { delays.insert(try Self.delay(try await agent.printed("; next try in "))) }
        #expect(delays.count > 1, "\(delays)")
        try await broker.start()
        try await answer("after", at: broker)

        for agent in agents { agent.signalTermination() }
        for agent in agents { #expect(try await agent.ended() == 0) }
    }

    /// Waits until all are online, sends one command to the group, and waits for the reply of each.
    private func answer(_ id: String, at broker: TestBroker) async throws {
        let backend = try await Backend(broker: broker.url)
        try await backend.wait(for: "all to be online") { seen in
            Set(seen.filter { $0.topic.hasSuffix("/state") && $0.json?["state"] == "online" }.map(\.topic))
                == Set(Self.names.map { "waypost/v1/\($0)/state" })
        }
        try await backend.publish(
            #"{"id":"\#(id)","type":"open","url":"scheme://router/demo"}"#, to: "waypost/v1/@lobby/cmd/me")
        try await backend.wait(for: "a reply of each") { seen in
            Self.replies(to: id, in: seen).count >= Self.names.count
        }
        let replies = Self.replies(to: id, in: backend.seen)
        #expect(replies.map(\.topic).sorted() == Self.names.map { "waypost/v1/\($0)/reply/me" }.sorted())
        #expect(replies.allSatisfy { $0.json?["status"] == "ok" })
        await backend.disconnect()
    }

    /// Without those that say only that the command was accepted: a slow agent sends them too.
    private static func replies(to id: String, in seen: [Backend.Seen]) -> [Backend.Seen] {
        seen.filter {
            $0.topic.hasSuffix("/reply/me") && $0.json?["id"]?.stringValue == id
                && $0.json?["status"] != "accepted"
        }
    }

    private static func delay(_ line: String) throws -> String {
        String(try #require(line.firstMatch(of: /next try in ([0-9.]+) m?s/)).1)
    }
}
