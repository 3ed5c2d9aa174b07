import MQTTLink
import WaypostMessages

/// Reads once what the broker keeps of all agents.
struct RosterReader {
    let settings: BrokerSettings
    let sender: String

    /// The agents, and whether these are all that the broker knows.
    ///
    /// - Throws: ``CommandError`` 4 when there is no broker, 1 when it refuses to show the agents.
    func roster(within limit: Duration) async throws -> (Roster, isComplete: Bool) {
        try await withSession { session in
            var roster = Roster(topics: settings.topics)
            let isComplete = try await session.readRetained(within: limit) { roster.saw($0) }
            return (roster, isComplete)
        }
    }

    /// Calls `changed` for each agent of which there is something else to be said, until it returns false.
    ///
    /// - Throws: ``CommandError`` 4 when the connection ends, `CancellationError` on a signal.
    func follow(_ roster: Roster, _ changed: (Roster, _ agent: String) -> Bool) async throws {
        var roster = roster
        try await withSession { session in
            while true {
                guard case .message(let message) = try await session.next(),
                    let (agent, _) = settings.topics.outbound(message.topic)
                else { continue }
                let before = roster.news(of: agent)
                roster.saw(message)
                if roster.news(of: agent) != before, !changed(roster, agent) { return }
            }
        }
    }

    private func withSession<Value>(_ body: (OperatorSession) async throws -> Value) async throws -> Value {
        let topics = settings.topics
        return try await OperatorSession.with(
            settings, as: sender, required: [topics.state(of: "+"), topics.health(of: "+")],
            useful: [topics.applied(of: "+")], body)
    }
}
