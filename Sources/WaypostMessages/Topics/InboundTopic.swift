/// What a topic that an agent is subscribed to carries.
package enum InboundTopic: Sendable, Hashable {
    case command(Audience, from: String)
    case map(Audience)
    case patch(agent: String)
    case echo(agent: String)

    /// The receivers of the message.
    package var audience: Audience {
        switch self {
        case .command(let audience, _), .map(let audience): audience
        case .patch(let agent), .echo(let agent): .agent(agent)
        }
    }
}

extension Topics {
    /// Reads a topic that a message came in on; nil for any other topic, and when a name in it breaks the rule.
    package func inbound(_ topic: String) -> InboundTopic? {
        guard let levels = levels(below: topic), let audience = levels.first.flatMap({ Audience($0) })
        else { return nil }
        switch (audience, levels.count, levels.dropFirst().first) {
        case (_, 3, "cmd") where Name.isValid(levels[2]): return .command(audience, from: String(levels[2]))
        case (_, 2, "map"): return .map(audience)
        case (.agent(let agent), 3, "map") where levels[2] == "patch": return .patch(agent: agent)
        case (.agent(let agent), 2, "echo"): return .echo(agent: agent)
        default: return nil
        }
    }

    /// Who sent a command on that topic; nil for another topic.
    package func sender(ofCommandOn topic: String) -> String? {
        guard case .command(_, let sender)? = inbound(topic) else { return nil }
        return sender
    }

    /// The levels that follow the root, of a fourth and further ones one text; nil when the topic is not under it.
    package func levels(below topic: String) -> [Substring]? {
        guard topic.utf8.count > root.utf8.count, topic.utf8.starts(with: root.utf8) else { return nil }
        let rest = topic.utf8.dropFirst(root.utf8.count)
        // Comparing other characters can take long, and none of our levels has any.
        guard rest.first == UInt8(ascii: "/"), rest.allSatisfy({ $0 < 0x80 }) else { return nil }
        // None of our topics has more than three.
        var levels: [Substring] = []
        levels.reserveCapacity(4)
        var start = rest.index(after: rest.startIndex)
        while levels.count < 3, let end = rest[start...].firstIndex(of: UInt8(ascii: "/")) {
            levels.append(Substring(rest[start..<end]))
            start = rest.index(after: end)
        }
        levels.append(Substring(rest[start...]))
        return levels
    }
}
