/// What a topic that an agent is subscribed to carries.
package enum InboundTopic: Sendable, Hashable {
    case command(Audience, from: String)
    case map(Audience)
    case patch(agent: String)
    case echo(agent: String)
    /// Which groups the agent is in, beside what it was told itself.
    case groups(agent: String)
    /// A map of the group that is in force only where a roll-out chooses it.
    case candidate(group: String)
    /// Which of the group's two maps is in force where.
    case rollout(group: String)

    /// The receivers of the message.
    package var audience: Audience {
        switch self {
        case .command(let audience, _), .map(let audience): audience
        case .patch(let agent), .echo(let agent), .groups(let agent): .agent(agent)
        case .candidate(let group), .rollout(let group): .group(group)
        }
    }
}

extension Topics {
    /// Reads a topic that a message came in on; nil for any other topic, and when a name in it breaks the rule.
    package func inbound(_ topic: String) -> InboundTopic? {
        guard let levels = levels(below: topic), let audience = levels.first.flatMap(Audience.init)
        else { return nil }
        switch (audience, levels.count, levels.dropFirst().first) {
        case (_, 3, "cmd") where Name.isValid(levels[2]): return .command(audience, from: levels[2])
        case (_, 2, "map"): return .map(audience)
        case (.agent(let agent), 3, "map") where levels[2] == "patch": return .patch(agent: agent)
        case (.agent(let agent), 2, "echo"): return .echo(agent: agent)
        case (.agent(let agent), 2, "groups"): return .groups(agent: agent)
        case (.group(let group), 3, "map") where levels[2] == "next": return .candidate(group: group)
        case (.group(let group), 2, "rollout"): return .rollout(group: group)
        default: return nil
        }
    }

    /// Who sent a command on that topic; nil for another topic.
    package func sender(ofCommandOn topic: String) -> String? {
        guard case .command(_, let sender)? = inbound(topic) else { return nil }
        return sender
    }

    /// The levels that follow the root, of a third and further ones one text; nil when the topic is not under it.
    func levels(below topic: String) -> [String]? {
        let (bytes, root) = (topic.utf8Span.span, root.utf8Span.span)
        let slash = UInt8(ascii: "/")
        guard bytes.count > root.count, bytes[root.count] == slash else { return nil }
        // By index, here and below: generic code that is not specialized takes ten times as long.
        var place = 0
        while place < bytes.count {
            // Comparing other characters can take long, and none of our levels has any.
            guard place < root.count ? bytes[place] == root[place] : bytes[place] < 0x80 else { return nil }
            place += 1
        }
        func level(_ start: Int, _ end: Int) -> String {
            guard let text = try? UTF8Span(validating: bytes.extracting(start..<end)) else { return "" }
            return String(copying: text)
        }
        // None of our topics has more than three.
        var levels: [String] = []
        levels.reserveCapacity(3)
        var start = root.count + 1
        place = start
        while place < bytes.count, levels.count < 2 {
            if bytes[place] == slash {
                levels.append(level(start, place))
                start = place + 1
            }
            place += 1
        }
        levels.append(level(start, bytes.count))
        return levels
    }
}
