import MQTTLink
package import WaypostFleet
import WaypostMessages

extension BackendConfiguration {
    /// What the broker keeps of all agents, read once; its ``Roster/gap`` says whether these are all that it knows.
    ///
    /// - Throws: ``BackendError`` when there is no broker, or when it refuses to show the agents.
    package func roster(within limit: Duration) async throws -> Roster {
        try await withSession { session in
            var roster = Roster(topics: topics)
            roster.cutOff = try await session.readAsMuch(within: limit) { roster.saw($0) }.fault
            return roster
        }
    }

    /// Calls `changed` for each agent of which there is something else to be said, until it returns false.
    ///
    /// - Throws: ``BackendError`` when the connection ends, `CancellationError` when the task is cancelled.
    package func follow(_ roster: inout Roster, _ changed: (Roster, _ agent: String) -> Bool) async throws {
        try await withSession { session in
            var goesOn = true
            func saw(_ message: MQTTMessage) {
                guard goesOn, let (agent, _) = topics.outbound(message.topic) else { return }
                let before = roster.news(of: agent)
                roster.saw(message)
                if roster.news(of: agent) != before { goesOn = changed(roster, agent) }
            }
            roster.cutOff = try await session.readAsMuch(within: .seconds(60), saw).fault
            if let gap = roster.gap { throw BackendError(.noReply, "not all agents are known: \(gap)") }
            while goesOn { if case .message(let message) = try await session.next() { saw(message) } }
        }
    }

    private func withSession<Value>(_ body: (BackendSession) async throws -> Value) async throws -> Value {
        try await BackendSession.with(
            self, required: [topics.state(of: "+"), topics.health(of: "+")],
            useful: [topics.applied(of: "+")], body)
    }
}
