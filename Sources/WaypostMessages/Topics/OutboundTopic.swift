/// What a topic that an agent publishes on carries; operators' tools read it.
package enum OutboundTopic: Sendable, Hashable {
    case reply(to: String)
    case applied
    /// The level is nil when it is one of a newer agent.
    case log(LogLevel?)
    case failure
    case state
    case health
    case routes
    case contract
    case navigation
}

extension Topics {
    /// Reads a topic that an agent published on: the agent and what the topic carries.
    package func outbound(_ topic: String) -> (agent: String, content: OutboundTopic)? {
        guard let levels = levels(below: topic), let agent = levels.first, Name.isValid(agent) else {
            return nil
        }
        let content: OutboundTopic? =
            switch (levels.count, levels.dropFirst().first) {
            case (3, "reply"): Name.isValid(levels[2]) ? .reply(to: levels[2]) : nil
            case (3, "map") where levels[2] == "applied": .applied
            case (3, "log"): Name.isValid(levels[2]) ? .log(LogLevel(letter: levels[2])) : nil
            case (2, "fail"): .failure
            case (2, "state"): .state
            case (2, "health"): .health
            case (2, "routes"): .routes
            case (2, "contract"): .contract
            case (2, "navigation"): .navigation
            default: nil
            }
        return content.map { (agent, $0) }
    }
}
