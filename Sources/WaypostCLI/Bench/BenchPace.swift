import MQTTLink
import WaypostMessages

/// How fast a bench sends to an agent that takes only so much from one sender.
struct BenchPace {
    /// Commands a second; nil for one for each reply.
    var rate: Double?
    /// What the user should know about it.
    var note: String?

    /// - Parameters:
    ///   - asked: what the user wants; nil for what the agent takes.
    ///   - limit: what the agent takes from one sender in a second; nil for everything.
    init(asked: Double?, limit: Int64?, agent: String) {
        rate = asked
        guard let limit else { return }
        let advice = "waypost agent --intake-rate 0 takes everything"
        guard let asked else {
            // A tenth less, for two clocks never agree.
            let paced = Double(limit) * 0.9
            rate = paced
            note = "\(agent) takes \(limit)/s from one sender, so \(String(paced))/s are sent; \(advice)"
            return
        }
        if asked > Double(limit) {
            note = "\(agent) takes \(limit)/s from one sender; more ends with 429 BUSY; \(advice)"
        }
    }

    /// Asks the broker what the agent takes.
    static func find(
        for agent: String, asked: Double?, _ settings: BrokerSettings, as sender: String
    ) async throws -> BenchPace {
        let topic = settings.topics.health(of: agent)
        let health = try await OperatorSession.with(settings, as: sender, required: [], useful: [topic]) {
            session in
            var health: Health?
            try await session.readUpToFence { message in
                if message.topic == topic { health = message.json.map(Health.init) }
            }
            return health
        }
        return BenchPace(asked: asked, limit: health?.intakeRate, agent: agent)
    }
}
