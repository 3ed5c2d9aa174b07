import MQTTLink
import Waypost
import WaypostMessages

/// Why an agent may not have replied, from what the broker keeps about it.
struct NoReplyDiagnosis {
    private let audience: Audience
    private let topics: Topics
    private var state: AgentState?
    /// When the newest health was written, on the agent's clock, in milliseconds since 1970.
    private var lastHealth: Int64?
    /// The connection on which it was written.
    private var healthEpoch: Int64?
    /// Whether it was online at any time since it was asked.
    private var wasOnline = false

    init(_ audience: Audience, topics: Topics) {
        self.audience = audience
        self.topics = topics
    }

    /// Takes note of a message that may be about the agent's presence.
    mutating func saw(_ message: MQTTMessage) {
        guard let (agent, content) = topics.outbound(message.topic), audience == .agent(agent),
            let json = message.json
        else { return }
        switch content {
        case .state:
            let news = try? AgentState(json)
            if news?.isNews(after: state) != false { state = news }
        case .health:
            lastHealth = json["at"]?.intValue
            healthEpoch = json["epoch"]?.intValue
        default: break
        }
        if state?.isOnline(withHealthOf: healthEpoch) ?? false { wasOnline = true }
    }

    /// Whether it was offline all the time since it was asked.
    var isKnownOffline: Bool { state != nil && !wasOnline }

    /// One sentence: who did not reply for how long, and what is known about it.
    ///
    /// - Parameter limit: How long it was waited for; nil when it was not, because it is offline.
    func explanation(after limit: String?) -> String {
        let waited = limit.map { " within \($0)" } ?? ""
        let advice = limit == nil ? "; to wait for it: --wait 1m" : ""
        return switch audience {
        case .group(let group):
            "no reply from any agent of group \(group)\(waited); see: waypost agents"
        case .agent(let agent): "no reply from \(agent)\(waited); \(knowledge(of: agent))\(advice)"
        }
    }

    private func knowledge(of agent: String) -> String {
        guard let state else {
            return "there is no agent \(agent) at this broker; see: waypost agents"
        }
        guard !state.isOnline(withHealthOf: healthEpoch) else {
            return "it reports that it is online (MQTT \(state.mqttVersion), epoch \(state.epoch)). "
                + "May this sender write its cmd topic and read its reply topic? See: waypost logcat --agent \(agent)"
        }
        let manner = state.reason == .shutdown ? "it was shut down" : "its connection was lost"
        let since = lastHealth.map { "; its last health is of \(Timestamp.local($0))" } ?? ""
        return "it is offline: \(manner)\(since); "
            + "the broker keeps the message, and the agent gets it if it comes back in time"
    }
}

extension AgentState {
    /// The MQTT version as people write it.
    var mqttVersion: String { mqtt == 4 ? "3.1.1" : String(mqtt) }
}
