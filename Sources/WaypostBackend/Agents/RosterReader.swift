import MQTTLink
package import WaypostFleet
import WaypostMessages

/// Reads once what the broker keeps of all agents.
package struct RosterReader {
    let settings: BackendConfiguration

    package init(_ settings: BackendConfiguration) { self.settings = settings }

    /// The agents, and whether these are all that the broker knows.
    ///
    /// - Throws: ``BackendError`` when there is no broker, or when it refuses to show the agents.
    package func roster(within limit: Duration) async throws -> (Roster, isComplete: Bool) {
        try await withSession { session in
            var roster = Roster(topics: settings.topics)
            let isComplete = try await session.readRetained(within: limit) { roster.saw($0) }
            return (roster, isComplete)
        }
    }

    /// Calls `changed` for each agent of which there is something else to be said, until it returns false.
    ///
    /// - Throws: ``BackendError`` when the connection ends, `CancellationError` when the task is cancelled.
    package func follow(_ roster: inout Roster, _ changed: (Roster, _ agent: String) -> Bool) async throws {
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

    private func withSession<Value>(_ body: (BackendSession) async throws -> Value) async throws -> Value {
        let topics = settings.topics
        return try await BackendSession.with(
            settings, required: [topics.state(of: "+"), topics.health(of: "+")],
            useful: [topics.applied(of: "+")], body)
    }
}
