import MQTTLink
import WaypostMessages

/// One relocation document and what agents say to it.
struct RelocationRequest {
    var settings: BrokerSettings
    var sender: String
    var audience: Audience
    var relocation: Relocation
    var wait: WaitOptions

    /// Publishes the document and hands over each result as it comes.
    ///
    /// - Returns: how many results came; 0 only when it did not wait.
    /// - Throws: ``CommandError`` 3 with what is known of the agent when no result came in time.
    func perform(_ each: (RelocationResult) -> Void) async throws -> Int {
        let message = try relocation.message(to: audience, settings.topics)
        return try await OperatorSession.with(
            settings, as: sender, required: [filter], useful: presenceFilters
        ) { session in
            try await session.publish(message)
            guard wait.isOn else { return 0 }
            session.alarm(after: wait.duration)
            var diagnosis = NoReplyDiagnosis(audience, topics: settings.topics)
            let matcher = RelocationResultMatcher(relocation, for: audience, topics: settings.topics)
            var answered: Set<String> = []
            while true {
                guard case .message(let message) = try await session.next() else {
                    guard answered.isEmpty else { return answered.count }
                    throw CommandError(.noReply, diagnosis.explanation(after: wait.text))
                }
                diagnosis.saw(message)
                guard let result = matcher.result(in: message), answered.insert(result.agent).inserted else {
                    continue
                }
                each(result)
                if case .agent = audience { return 1 }
            }
        }
    }

    private var filter: String {
        switch audience {
        case .agent(let agent): settings.topics.applied(of: agent)
        case .group: settings.topics.applied(of: "+")
        }
    }

    private var presenceFilters: [String] {
        guard case .agent(let agent) = audience else { return [] }
        return [settings.topics.state(of: agent), settings.topics.health(of: agent)]
    }
}
