import MQTTLink
import WaypostMessages

/// Who may write what by the rules that are shipped for a broker: `scripts/broker/acl`.
package enum BrokerRole: String, Sendable {
    /// Commands and asks agents.
    case sender = "ops"
    /// Sends maps, steers roll-outs and writes the groups of agents.
    case release

    /// The role that may write a topic; nil where that is an agent's own.
    init?(writing topic: String, _ topics: Topics) {
        if case .command? = topics.inbound(topic) {
            self = .sender
        } else if case .groups? = topics.inbound(topic) {
            self = .release
        } else if topics.isOfMap(topic) || topics.rollout(topic) != nil || topic.hasSuffix("/map/patch") {
            self = .release
        } else {
            return nil
        }
    }

    /// What it does, and others do not.
    private var right: String {
        switch self {
        case .sender: "commands and asks agents"
        case .release: "sends maps, steers roll-outs and writes the groups of agents"
        }
    }

    /// One clause: who may.
    package var text: String { "by the shipped rules the role of \(rawValue) \(right), and no other does" }
}

extension BackendError {
    /// The broker does not let a sender write a topic.
    static func denied(
        _ topic: String, _ code: ReasonCode, to settings: BackendConfiguration, id: String? = nil
    ) -> BackendError {
        let role = BrokerRole(writing: topic, settings.topics)
        var error = BackendError(
            .denied,
            "the broker refused the message to \(topic): \(code); check its rules for \(settings.name)"
                + (role.map { ": \($0.text)" } ?? ""), id: id)
        error.role = role
        error.needsAsker = settings.canNameAsker && role == .sender
        return error
    }
}
