package import MQTTLink
import Threading
package import Waypost
package import WaypostFleet
import WaypostMessages

/// The roster as it is now, by this machine's clock.
extension Roster {
    /// Takes note of a message that may be about presence.
    package mutating func saw(_ message: MQTTMessage, now: Int64 = WallClock.now()) {
        saw(message.seen, now: now)
    }

    /// Takes the health with which an agent has answered a ping.
    package mutating func answered(_ agent: String, _ health: JSONValue) {
        answered(agent, health, now: WallClock.now())
    }

    package func clockError(of agent: String) -> Int64 { clockError(of: agent, now: WallClock.now()) }

    /// One JSON object an agent, by name.
    package var json: [JSONValue] { json(now: WallClock.now()) }

    package func json(of agent: String) -> JSONValue { json(of: agent, now: WallClock.now()) }

    package func news(of agent: String) -> AgentStatus? { news(of: agent, now: WallClock.now()) }

    func summaries() -> [AgentStatus] { summaries(now: WallClock.now()) }
}

extension AgentStatus {
    init(_ agent: String, _ member: Roster.Member) {
        self.init(agent, member, now: WallClock.now())
    }
}
