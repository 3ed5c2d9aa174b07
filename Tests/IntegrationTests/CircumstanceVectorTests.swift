import Foundation
import TestSupport
import Testing
import Waypost
import WaypostMessages

/// The rest of the protocol's table: what only comes when something is wrong around the agent.
///
/// A row of `Vectors/circumstances.jsonl` names what is `given`; each has a broker and an agent of its own.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct `The wire protocol in trouble` {
    struct Case: Sendable, CustomTestStringConvertible {
        var row: VectorRow
        var version: String
        var testDescription: String { "\(row.name), MQTT \(version)" }
    }

    static let cases = ((try? VectorRow.read("circumstances.jsonl")) ?? []).flatMap { row in
        ["5", "3.1.1"].map { Case(row: row, version: $0) }
    }

    @Test(arguments: cases) func `does what its table says`(_ vector: Case) async throws {
        let name = try #require(vector.row.circumstance)
        let given = try #require(Circumstance(rawValue: name))
        let fixture = try await Fixture(given, vector.version)
        let backend = try await given.play(fixture, vector.row)
        await vector.row.check(backend, after: 0, vector.version, within: .seconds(90))
        await backend.disconnect()
        fixture.broker.end()
    }

    /// Together the two tables have every code that there is.
    @Test func `the tables have every code`() throws {
        let files = ["protocol.jsonl", "circumstances.jsonl"]
        let text = try files.map {
            try String(
                contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                    .appendingPathComponent("Vectors/\($0)"), encoding: .utf8)
        }.joined()
        for code in Code.all {
            #expect(text.contains(#""name":"\#(code.name)""#), "no row has \(code.name)")
        }
    }
}
