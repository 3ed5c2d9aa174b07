import CommandSupport
import TestSupport
import Testing
import Waypost
import WaypostMessages

@Suite(.aFewAtATime) struct `What fails is answered and reported` {
    @Test func `an unknown route gives a 404, a failure report and an error event with the same ref`()
        async throws
    {
        let broker = try await TestBroker.start()
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let backend = try await Backend(broker: broker.url)

        let reply = try await backend.command(
            #"{"id":"c-404","type":"open","url":"scheme://router/demoo"}"#, to: "k1")
        #expect(reply.code == .noRoute)
        #expect(reply.nearest.contains("scheme://router/demo"))
        let failure = try await backend.failure(ref: "c-404", of: "k1")
        #expect(failure.code == .noRoute)
        #expect(failure.origin == .router)
        let event = try await backend.event(of: "k1") { $0["ref"] == "c-404" && $0["l"] == "E" }
        #expect(event["type"] == 1)

        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test func `twenty bad payloads are each reported, none is fatal`() async throws {
        let broker = try await TestBroker.start()
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let backend = try await Backend(broker: broker.url)

        let bad: [(String, [UInt8])] = [
            ("not JSON", Array("open the door".utf8)),
            ("empty", []),
            ("white space", Array(" \n\t".utf8)),
            ("a BOM", [0xEF, 0xBB, 0xBF] + Array(#"{"id":"b","type":"ping"}"#.utf8)),
            ("a NUL", Array("{\"id\":\"b\",\"type\":\"pi\0ng\"}".utf8)),
            ("invalid UTF-8", Array(#"{"id":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)),
            ("half a surrogate", Array(#"{"id":"b","type":"\uD800"}"#.utf8)),
            ("a hundred thousand brackets", Array(repeating: UInt8(ascii: "["), count: 60_000)),
            ("an array", Array("[]".utf8)),
            ("a number", Array("7".utf8)),
            ("null", Array("null".utf8)),
            ("a missing id", Array(#"{"type":"ping"}"#.utf8)),
            ("an id of the wrong type", Array(#"{"id":7,"type":"ping"}"#.utf8)),
            ("an id with a space", Array(#"{"id":"a b","type":"ping"}"#.utf8)),
            ("duplicate keys", Array(#"{"id":"a","id":"b","type":"ping"}"#.utf8)),
            ("a trailing comma", Array(#"{"id":"a",}"#.utf8)),
            ("two documents", Array(#"{"id":"a","type":"ping"}{"id":"b"}"#.utf8)),
            ("single quotes", Array("{'id':'a'}".utf8)),
            ("NaN", Array(#"{"id":"a","at":NaN}"#.utf8)),
            ("too many bytes", Array(#"{"id":"a","x":""#.utf8) + Array(repeating: 0x61, count: 100_000)),
        ]
        let failures = "waypost/v1/k1/fail"
        for (index, (name, payload)) in bad.enumerated() {
            let sender = "bad\(index)"
            try await backend.publish(payload, to: "waypost/v1/k1/cmd/\(sender)")
            let report = try await backend.message(on: failures) {
                $0["detail"]?.stringValue?.contains("\(sender)") == true
            }
            #expect([400, 413, 422].contains(report["code"]?.intValue), "\(name): \(report)")
        }

        // Wrong types in fields have an id, so they are answered as well.
        for (id, fields) in [
            ("w1", #""type":7"#), ("w2", #""type":"open","url":[]"#), ("w3", #""type":"call","service":"S""#),
            ("w4", #""type":"ping","exp":"soon""#), ("w5", #""type":"dance""#),
        ] {
            let reply = try await backend.command("{\"id\":\"\(id)\",\(fields)}", to: "k1")
            #expect(reply.status == .rejected, "\(fields)")
            _ = try await backend.failure(ref: id, of: "k1")
        }

        // A sender whose name breaks the rule is reported and not run.
        try await backend.publish(
            #"{"id":"x1","type":"call","service":"LedgerService","method":"append","args":["x1"]}"#,
            to: "waypost/v1/k1/cmd/no good")
        _ = try await backend.message(on: failures) { $0["detail"]?.stringValue?.contains("no good") == true }

        // The agent is as well as before.
        let reply = try await backend.command(#"{"id":"after","type":"ping"}"#, to: "k1")
        #expect(reply.code == .ok)
        #expect(agent.ledger.isEmpty, "\(agent.ledger)")
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a retained command is refused and does not run`() async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        try await backend.publish(
            #"{"id":"old","type":"call","service":"LedgerService","method":"append","args":["old"]}"#,
            to: "waypost/v1/k1/cmd/me", retain: true)
        let agent = try RunningAgent("k1", broker: broker.url)
        let reply = try await backend.reply(to: "old", of: "k1")
        #expect(reply.code == .retainedCommand)
        // Behind it in the same lane; it is the only one in the ledger.
        let new = #"{"id":"new","type":"call","service":"LedgerService","method":"append","args":["new"]}"#
        #expect(try await backend.command(new, to: "k1").result == 1)
        #expect(agent.ledger.count == 1, "\(agent.ledger)")
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }
}
