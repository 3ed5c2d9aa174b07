import MQTTLink
package import WaypostBackend
import WaypostMessages

/// How fast a bench sends, which may depend on what the agent takes from one sender.
package struct BenchPace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Commands a second; nil for one for each reply.
    package var rate: Double?
    /// The most commands without a reply at the same time.
    var inFlight: Int
    /// How many that could not be sent in time are sent later, all at once; nil for all of them.
    private var mostLate: Int?
    /// What the user should know about it.
    package private(set) var note: String?

    /// - Parameters:
    ///   - asked: what the user wants; nil for what the agent takes.
    ///   - limit: what the agent takes from one sender; nil for everything.
    init(asked: Double?, inFlight: Int, limit: Health.SenderLimit?, agent: String) {
        rate = asked
        self.inFlight = inFlight
        guard let limit else { return }
        let advice = "no limit: waypost agent --intake-rate 0"
        guard let asked else {
            // A tenth less, for two clocks never agree.
            let paced = Double(limit.rate) * 0.9
            rate = paced
            // What is on its way may arrive all at once with what is sent too late: together they are a burst.
            self.inFlight = min(inFlight, max(1, limit.burst / 2))
            mostLate = max(0, limit.burst - self.inFlight - 1)
            note =
                "\(agent) accepts \(limit.rate) commands/s from one sender; sending \(String(paced))/s; \(advice)"
            return
        }
        if asked > Double(limit.rate) {
            note =
                "\(agent) accepts \(limit.rate) commands/s from one sender; the rest ends with 429 BUSY; \(advice)"
        }
    }

    /// When a command is due that was planned for then.
    func due(_ planned: Instant, at now: Instant) -> Instant {
        guard let interval else { return now }
        return mostLate.map { max(planned, now - interval * $0) } ?? planned
    }

    /// When the one after it is planned.
    func next(after due: Instant) -> Instant { due + (interval ?? .zero) }

    private var interval: Duration? { rate.map { .seconds(1) / $0 } }

    /// Asks the broker what the agent takes.
    package static func find(
        for agent: String, asked: Double?, inFlight: Int, _ settings: BackendConfiguration
    ) async throws -> BenchPace {
        let topic = settings.topics.health(of: agent)
        let health = try await BackendSession.with(settings, required: [], useful: [topic]) {
            session in
            var health: Health?
            _ = try await session.readUpToFence { message in
                if message.topic == topic { health = message.json.map(Health.init) }
            }
            return health
        }
        return BenchPace(asked: asked, inFlight: inFlight, limit: health?.senderLimit, agent: agent)
    }
}
