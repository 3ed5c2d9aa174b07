import CommandSupport
import TestSupport
import Testing
import Waypost
import WaypostMessages

@Suite(.aFewAtATime) struct `Presence over crashes and absences` {
    private let state = "waypost/v1/k1/state"

    @Test func `birth, the will after kill -9, and a goodbye carry rising epochs`() async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        var agent = try AgentProcess("k1", broker: broker.url)
        let birth = try AgentState(try await backend.message(on: state) { $0["state"] == "online" })
        #expect(birth.reason == .birth)

        var seen = backend.seen.count
        try await agent.kill()
        let will = try AgentState(
            try await backend.message(on: state, after: seen) { $0["state"] == "offline" })
        #expect(will.reason == .will)
        #expect(will.epoch == birth.epoch)

        seen = backend.seen.count
        agent = try AgentProcess("k1", broker: broker.url, directory: agent.directory)
        let reborn = try AgentState(
            try await backend.message(on: state, after: seen) { $0["state"] == "online" })
        #expect(reborn.epoch > birth.epoch)
        #expect(reborn.boot != birth.boot)

        seen = backend.seen.count
        try await agent.online()
        #expect(try await agent.terminate() == 0)
        let goodbye = try AgentState(
            try await backend.message(on: state, after: seen) { $0["state"] == "offline" })
        #expect(goodbye.reason == .shutdown)
        #expect(goodbye.epoch == reborn.epoch)
        await backend.disconnect()
    }

    @Test func `a session that the broker lost is reported once`() async throws {
        let broker = try await TestBroker.start()
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        // Without persistence it forgets everything.
        try await broker.restart()
        try await agent.online(times: 2)
        let backend = try await Backend(broker: broker.url)
        // The report may have gone out before we were there; the agent's ring still has it.
        let id = "replay"
        try await backend.publish(
            #"{"id":"\#(id)","type":"replay","since":0}"#, to: "waypost/v1/k1/cmd/me")
        let reply = try await backend.reply(to: id, of: "k1")
        let count = try #require(reply.result["replayed"]?.intValue)
        let last = try #require(reply.result["last"]?.intValue)
        @Sendable func events(_ seen: [Backend.Seen]) -> [Int64: JSONValue] {
            let all = seen.filter { $0.topic.hasPrefix("waypost/v1/k1/log/") }.flatMap(\.lines)
            let numbered = all.compactMap { event in event["seq"]?.intValue.map { ($0, event) } }
            return Dictionary(numbered.filter { $0.0 <= last }) { first, _ in first }
        }
        try await backend.wait(for: "all events of the replay") { events($0).count >= count }
        let reports = events(backend.seen).values.filter {
            $0["msg"]?.stringValue?.contains("SESSION_LOST") == true
        }
        #expect(reports.count == 1, "\(reports)")
        #expect(reports.allSatisfy { $0["l"] == "W" || $0["l"] == "E" })
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a command sent while the agent is down runs at its return`() async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        var agent = try AgentProcess("k1", broker: broker.url)
        try await agent.online()
        try await agent.kill()
        try await backend.publish(
            #"{"id":"late","ttl":900000,"type":"call","service":"CalculatorService","method":"add","args":[2,40]}"#,
            to: "waypost/v1/k1/cmd/me")
        agent = try AgentProcess("k1", broker: broker.url, directory: agent.directory)
        let reply = try await backend.reply(to: "late", of: "k1")
        #expect(reply.code == .ok)
        #expect(reply.result == 42)
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test func `a repeated command is not run again and gets the same reply`() async throws {
        let broker = try await TestBroker.start()
        let backend = try await Backend(broker: broker.url)
        let agent = try RunningAgent("k1", broker: broker.url)
        try await agent.online()
        let command = #"{"id":"once","type":"call","service":"LedgerService","method":"append","args":["a"]}"#
        let first = try await backend.command(command, to: "k1")
        #expect(first.result == 1)
        let second = try await backend.command(command, to: "k1")
        #expect(second.isDuplicate)
        #expect(second.result == 1)
        #expect(second.at == first.at)
        let reused = try await backend.command(
            #"{"id":"once","type":"call","service":"LedgerService","method":"append","args":["b"]}"#, to: "k1"
        )
        #expect(reused.code == .idReused)
        // Lanes run in order: when this one has run, nothing of the others is still to come.
        let end = #"{"id":"end","type":"call","service":"LedgerService","method":"append","args":["end"]}"#
        #expect(try await backend.command(end, to: "k1").result == 2)
        #expect(agent.ledger.count == 2, "\(agent.ledger)")
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }

    @Test func `routes, health and the map in force are retained for a later subscriber`() async throws {
        let broker = try await TestBroker.start()
        let agent = try RunningAgent("k1", broker: broker.url, arguments: ["--demo", "--group", "fleet"])
        try await agent.online()
        let backend = try await Backend(broker: broker.url)
        let routes = try await backend.message(on: "waypost/v1/k1/routes")
        #expect(routes.arrayValue?.contains { $0["path"] == "scheme://router/demo" } == true)
        let health = try await backend.message(on: "waypost/v1/k1/health")
        #expect(health["limits"]?["commandBytes"] == 65_536)
        _ = try await backend.message(on: "waypost/v1/k1/map/applied")

        // A group's command is answered on the agent's own topic.
        try await backend.publish(#"{"id":"g1","type":"ping"}"#, to: "waypost/v1/@fleet/cmd/me")
        #expect(try await backend.reply(to: "g1", of: "k1").code == .ok)
        try await backend.publish(#"{"id":"g2","type":"ping"}"#, to: "waypost/v1/@all/cmd/me")
        #expect(try await backend.reply(to: "g2", of: "k1").code == .ok)
        await backend.disconnect()
        #expect(try await agent.terminate() == 0)
    }
}
