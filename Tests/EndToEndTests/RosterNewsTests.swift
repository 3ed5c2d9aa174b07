import MQTTLink
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// What a roster makes of presence that comes late, without a broker.
@Suite struct RosterNewsTests {
    private static func message(
        _ epoch: Int64, online: Bool, _ reason: AgentState.Reason, of agent: String = "k1"
    ) -> MQTTMessage {
        let state = AgentState(
            isOnline: online, epoch: epoch, boot: "b", reason: reason, agent: agent, version: "1", mqtt: 5)
        return .json("waypost/v1/\(agent)/state", state.encoded())
    }

    private static func condition(_ messages: MQTTMessage...) -> AgentStatus.Condition? {
        var roster = Roster(topics: .standard)
        for message in messages { roster.saw(message) }
        return roster.members["k1"]?.condition
    }

    // Without health there is nothing else that gives the late will away, and nothing that says that all is well.
    @Test func `an agent is there whose earlier connection's will comes after its birth`() {
        #expect(
            Self.condition(Self.message(7, online: true, .birth), Self.message(6, online: false, .will))
                == .unclear)
    }

    @Test func `an agent is lost whose own connection's will comes, and is there again with its next birth`()
    {
        let (birth, will) = (Self.message(7, online: true, .birth), Self.message(7, online: false, .will))
        #expect(Self.condition(birth, will) == .lost)
        #expect(Self.condition(birth, will, Self.message(8, online: true, .birth)) == .unclear)
        #expect(Self.condition(birth, Self.message(7, online: false, .shutdown)) == .stopped)
    }

    // Topics are made of it, and one agent's word ended a doctor of all.
    @Test func `what can be no group's name is no group`() {
        var roster = Roster(topics: .standard)
        let health: JSONValue = [
            "type": "health", "groups": ["lobby", "#", "a/b", "", "a\u{0}", "+", "@x", "ß"],
        ]
        roster.saw(.json("waypost/v1/k1/health", health.serialized()))
        #expect(roster.members["k1"]?.groups == ["lobby"])
    }

    @Test func `agents that are lost with the broker are one line, and what they were`() throws {
        func watched(_ wills: [String], pause: Int64) throws -> WatchModel {
            var model = WatchModel(topics: .standard, filter: LogFilter())
            for agent in ["k1", "k2", "k3"] {
                model.saw(Self.message(7, online: true, .birth, of: agent), now: 1_000)
            }
            for agent in wills { model.saw(Self.message(7, online: false, .will, of: agent), now: 2_000) }
            model.connectionLost("no broker", now: 2_000 + pause)
            return model
        }
        let model = try watched(["k1", "k2"], pause: 300)
        #expect(!model.isConnected && model.roster.members.values.allSatisfy { $0.isOnline == true })
        let lines = model.lines.map(\.event.message)
        #expect(lines.count == 4, "\(lines)")
        #expect(lines.last?.contains("the broker ended") == true && lines.last?.contains("k1, k2") == true)
        for (wills, pause) in [(["k1"], Int64(300)), (["k1", "k2"], 1_001)] {
            let model = try watched(wills, pause: pause)
            #expect(model.roster.members.values.count { $0.condition == .lost } == wills.count)
            #expect(model.lines.count == 3 + wills.count)
        }
    }

    @Test func `health tells of a connection after the will, and not of the one that the will ended`() {
        let will = Self.message(6, online: false, .will)
        func health(_ epoch: Int64) -> MQTTMessage {
            .json(
                "waypost/v1/k1/health",
                Array("{\"status\":\"green\",\"epoch\":\(epoch),\"at\":1,\"checks\":[]}".utf8))
        }
        #expect(Self.condition(will, health(7)) == .healthy)
        #expect(Self.condition(will, health(6)) == .lost)
    }
}
