import MQTTLink
import WaypostFleet
import WaypostMessages

/// What an agent that will not come back left at the broker, and its removal; see ``AgentClient/retired()``.
public struct RetiredAgent: Sendable {
    /// The agent.
    public let name: String
    /// The topics on which the broker keeps something of it, the state last: with it, the agent is known no more.
    public let topics: [String]
    /// Whether it is there: then it would only write all of it again.
    public let isOnline: Bool
    private let settings: BackendConfiguration

    /// Looks at what the broker keeps of an agent.
    ///
    /// - Throws: ``BackendError`` when that is nothing, with the names that are near.
    static func find(_ name: String, _ settings: BackendConfiguration) async throws -> RetiredAgent {
        let kept = try await RetainedDocuments.read(name, settings)
        guard kept.documents.isEmpty else {
            return RetiredAgent(
                name: name, topics: kept.documents.reversed().map(\.topic),
                isOnline: kept.state?.isOnline ?? false, settings: settings)
        }
        // Under its own name what it wrote may be removed, and not be read.
        if settings.credentials?.username == name {
            return RetiredAgent(
                name: name, topics: RetainedDocuments.topics(of: name, settings.topics).reversed(),
                isOnline: false, settings: settings)
        }
        let roster = try await settings.roster(within: .seconds(30))
        let fault = AgentSelection(names: [name]).fault(in: roster)
        throw BackendError(.unknownReceiver, fault ?? "the broker has nothing stored for \(name)")
    }

    /// Removes all of it.
    ///
    /// - Returns: the topics that the broker still keeps, because it does not let this sender write them.
    /// - Throws: ``BackendError`` of kind `notSent` when it is online.
    public func remove() async throws -> [String] {
        guard !isOnline else {
            throw BackendError(.notSent, "\(name) is online; stop it before it is forgotten")
        }
        return try await PublicCall.run { try await removed() }
    }

    private func removed() async throws -> [String] {
        var denied: [String] = []
        try await BackendSession.with(settings, required: []) { session in
            for topic in topics {
                do {
                    try await session.publish(MQTTMessage(topic: topic, payload: [], retain: true))
                } catch let error as BackendError where error.kind == .denied {
                    denied.append(topic)
                }
            }
        }
        // A broker that denies it without a word still keeps it.
        let kept = try await RetainedDocuments.read(name, settings).documents.map(\.topic)
        return topics.filter { denied.contains($0) || kept.contains($0) }
    }
}
