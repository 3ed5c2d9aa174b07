import MQTTLink
import Threading
import WaypostMessages

/// Reads once what the broker keeps of all agents.
struct RosterReader {
    /// Brokers that send what they retain in the background need a moment more than the round trip.
    private static let grace = Duration.milliseconds(200)

    let settings: BrokerSettings
    let sender: String

    /// The agents, and whether these are all that the broker knows.
    ///
    /// - Throws: ``CommandError`` 4 when there is no broker, 1 when it refuses to show the agents.
    func roster(within limit: Duration) async throws -> (Roster, isComplete: Bool) {
        let topics = settings.topics
        return try await OperatorSession.with(
            settings, as: sender, required: [topics.state(of: "+"), topics.health(of: "+")],
            useful: [topics.applied(of: "+")]
        ) { session in
            var roster = Roster(topics: topics)
            let end = ContinuousClock.now + limit
            let roundTrip = Guarded<Duration?>(nil)
            let fence = Task {
                let time = await session.fence()
                roundTrip.withLock { $0 = time }
                // Behind the answer, so that it is known when the alarm is read.
                session.alarm(after: .zero)
            }
            defer { fence.cancel() }
            session.alarm(after: limit)
            var newest = ContinuousClock.now
            while true {
                switch try await session.next() {
                case .message(let message):
                    // What is not retained is news, and may go on for ever.
                    if message.retain { newest = .now }
                    roster.saw(message)
                case .alarm:
                    if let time = roundTrip.withLock(\.self) {
                        let silence = ContinuousClock.now - newest
                        let needed = max(time, Self.grace)
                        if silence >= needed { return (roster, true) }
                        session.alarm(after: min(needed - silence, end - .now))
                    }
                    if ContinuousClock.now >= end { return (roster, false) }
                }
            }
        }
    }
}
