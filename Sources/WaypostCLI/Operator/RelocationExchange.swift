import MQTTLink
import Waypost
import WaypostMessages

/// What an agent says of a document.
struct RelocationVerdict: Sendable {
    var agent: String
    /// Nil when the document is in force.
    var refused: AppliedMap.Refused?
    /// The entries of the document's layer that have no effect in the agent's build.
    var inactive: [AppliedMap.Inactive]
    var applied: AppliedMap
    /// What the agent published, as one line.
    var line: [UInt8]
}

/// One relocation document and what agents say to it.
struct RelocationExchange {
    var settings: BrokerSettings
    var sender: String
    var audience: Audience
    var relocation: Relocation
    var wait: WaitOptions

    /// Publishes the document and hands over each verdict as it comes.
    ///
    /// - Returns: how many verdicts came; 0 only when nobody was to be waited for.
    /// - Throws: ``Complaint`` 3 with what is known of the agent when no verdict came in time.
    func perform(_ each: (RelocationVerdict) -> Void) async throws -> Int {
        let message = try relocation.message(to: audience, settings.topics)
        return try await OperatorSession.with(
            settings, as: sender, required: [filter], useful: presenceFilters
        ) { session in
            try await session.publish(message)
            guard wait.seconds > 0 else { return 0 }
            session.alarm(after: wait.duration)
            var silence = Silence(audience, topics: settings.topics)
            var answered: Set<String> = []
            while true {
                guard case .message(let message) = try await session.next() else {
                    guard answered.isEmpty else { return answered.count }
                    throw Complaint(.noReply, silence.explanation(after: wait.text))
                }
                silence.saw(message)
                guard let verdict = verdict(message), answered.insert(verdict.agent).inserted else { continue }
                each(verdict)
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

    /// The verdict on our document, if the message holds one.
    ///
    /// A retained message is what the agent said before us. It counts only for a map that is in force already:
    /// the agent then says nothing new.
    private func verdict(_ message: MQTTMessage) -> RelocationVerdict? {
        guard let (agent, .applied) = settings.topics.outbound(message.topic), let json = message.json,
            let applied = try? AppliedMap(json)
        else { return nil }
        let layer = relocation.layer(of: audience)
        let line = JSONLine.make(agent: agent, payload: message.payload, json)
        let digest = relocation.digest
        if applied.layers.contains(where: { $0.name == layer && $0.digest == digest }) {
            guard !message.retain || relocation.kind == .map else { return nil }
            return RelocationVerdict(
                agent: agent, inactive: applied.inactive.filter { $0.layer == layer }, applied: applied, line: line)
        }
        guard !message.retain, let refused = applied.refused, isOurs(refused, json) else { return nil }
        return RelocationVerdict(agent: agent, refused: refused, inactive: [], applied: applied, line: line)
    }

    /// Whether the refusal is about our document: by its digest, or, when the agent gives none, by its layer,
    /// under which it names the audience.
    private func isOurs(_ refused: AppliedMap.Refused, _ json: JSONValue) -> Bool {
        if let digest = json["refused"]?["digest"]?.stringValue { return digest == relocation.digest }
        return refused.layer == relocation.layer(of: audience) || refused.layer == audience.description
    }
}
