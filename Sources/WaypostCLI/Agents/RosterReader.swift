import MQTTLink
import Threading
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

extension OperatorSession {
    /// Brokers that send what they retain in the background need a moment more than the round trip.
    static let graceOfRetained = Duration.milliseconds(200)

    /// Reads until the broker has sent all that it retains for the subscriptions.
    ///
    /// - Returns: whether it had sent all within the time.
    func readRetained(within limit: Duration, _ saw: (MQTTMessage) -> Void) async throws -> Bool {
        let end = ContinuousClock.now + limit
        let roundTrip = Guarded<Duration?>(nil)
        let fence = Task {
            let time = await self.fence()
            roundTrip.withLock { $0 = time }
            // Behind the answer, so that it is known when the alarm is read.
            if !Task.isCancelled { self.alarm(after: .zero) }
        }
        var alarm = self.alarm(after: limit)
        defer {
            fence.cancel()
            alarm.cancel()
        }
        var newest = ContinuousClock.now
        while true {
            switch try await next() {
            case .message(let message):
                // What is not retained is news, and may go on for ever.
                if message.retain { newest = .now }
                saw(message)
            case .alarm:
                if let time = roundTrip.withLock(\.self) {
                    let silence = ContinuousClock.now - newest
                    let needed = max(time, Self.graceOfRetained)
                    if silence >= needed { return true }
                    alarm.cancel()
                    alarm = self.alarm(after: min(needed - silence, end - .now))
                }
                if ContinuousClock.now >= end { return false }
            }
        }
    }
}
