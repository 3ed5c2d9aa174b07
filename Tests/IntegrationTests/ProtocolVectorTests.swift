import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// The wire protocol as a table: what is sent to an agent, and what must come of it; on MQTT 5 and on 3.1.1 alike.
///
/// `Vectors/protocol.jsonl` has a row a line: `send` is published in order, and every `expect` must be matched by a
/// message that comes after; `$ID` is an id of the row's own. Rows run one after another, for later ones build on maps
/// of earlier ones.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `The wire protocol` {
    @Test(arguments: ["5", "3.1.1"])
    func `does what its table says`(_ version: String) async throws {
        let rows = try VectorRow.read("protocol.jsonl")
        #expect(rows.count >= 150)
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let agent = try RunningAgent(
            "k1", broker: broker.url,
            arguments: [
                "--demo", "--group", "lobby", "--mqtt", version, "--intake-rate", "0",
            ])
        try await agent.online()
        // One that takes a command a second of each sender.
        let slow = try RunningAgent(
            "k2", broker: broker.url,
            arguments: ["--demo", "--mqtt", version, "--intake-rate", "1", "--intake-burst", "1"])
        try await slow.online()
        // What takes long goes first and is looked for last.
        let early = rows.filter(\.isEarly)
        for row in early { try await row.send(backend) }
        for row in rows where !row.isEarly {
            let before = backend.seen.count
            try await row.send(backend)
            await row.check(backend, after: before, version)
        }
        for row in early { await row.check(backend, after: 0, version) }
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
        #expect(try await slow.terminate() == 0)
    }
}
