/// The topics of the wire protocol under one root.
package struct Topics: Sendable, Hashable {
    /// The default root; the major version of the protocol lives in it.
    package static let defaultRoot = "waypost/v1"

    /// The first levels of every topic, without a slash at either end.
    package let root: String

    /// Nil when there is a ``fault(in:)`` of the root.
    package init?(root: String = Topics.defaultRoot) {
        guard Self.fault(in: root) == nil else { return nil }
        self.root = root
    }

    /// Why no topics can be below a root, to follow its name; nil for one that is good.
    package static func fault(in root: String) -> String? {
        let levels = root.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard root.utf8.count <= 200 else { return "is longer than 200 bytes" }
        guard levels.allSatisfy({ !$0.isEmpty }) else { return "has an empty level, or a slash at an end" }
        guard root.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            return "has a space or a control character"
        }
        guard !root.utf8.contains(where: { "+#".utf8.contains($0) }) else { return "has a wildcard, + or #" }
        // MQTT 5.0, 4.7.2: no client publishes there; and `$share/…` is a filter, and no topic.
        guard root.utf8.first != UInt8(ascii: "$") else {
            return "begins with $, where brokers let no client publish"
        }
        return nil
    }

    /// The topics below the default root.
    package static let standard = Topics(validRoot: defaultRoot)

    private init(validRoot: String) { root = validRoot }

    // MARK: To an agent

    package func command(to audience: Audience, from sender: String) -> String {
        "\(root)/\(audience)/cmd/\(sender)"
    }

    package func map(of audience: Audience) -> String { "\(root)/\(audience)/map" }

    /// The filters for the maps of all agents and groups, and for the candidates of all groups.
    package var mapFilters: [String] { ["\(root)/+/map", "\(root)/+/map/next"] }

    /// Whether a topic is that of a map, or of a candidate.
    package func isOfMap(_ topic: String) -> Bool {
        topic.hasPrefix(root) && (topic.hasSuffix("/map") || topic.hasSuffix("/map/next"))
    }

    package func patch(of agent: String) -> String { "\(root)/\(agent)/map/patch" }

    /// What the release role makes of the groups of an agent.
    package func groups(of agent: String) -> String { "\(root)/\(agent)/groups" }

    package func echo(of agent: String) -> String { "\(root)/\(agent)/echo" }

    // MARK: Roll-outs

    /// The map that a roll-out brings, beside the one in force.
    package func candidate(of group: String) -> String { "\(root)/@\(group)/map/next" }
    /// The control document.
    package func rollout(of group: String) -> String { "\(root)/@\(group)/rollout" }
    /// Who steers.
    package func lease(of group: String) -> String { "\(root)/@\(group)/rollout/lease" }
    /// A place in the ring of the audit.
    package func audit(of group: String, slot: Int64) -> String { "\(root)/@\(group)/rollout/log/\(slot)" }
    /// The filter for all places of the ring.
    package func audits(of group: String) -> String { "\(root)/@\(group)/rollout/log/+" }

    /// What belongs to a roll-out.
    package enum RolloutTopic: Sendable, Hashable {
        case control, lease
        /// An entry of the audit, by its place in the ring.
        case audit(slot: Int64)
    }

    /// The filters for the roll-outs of all groups.
    package var rolloutFilters: [String] {
        ["\(root)/+/rollout", "\(root)/+/rollout/lease", "\(root)/+/rollout/log/+"]
    }

    /// The group whose roll-out a topic is about; nil for any other topic.
    package func rollout(_ topic: String) -> (group: String, RolloutTopic)? {
        guard let levels = levels(below: topic), levels.count > 1, levels[1] == "rollout",
            case .group(let group)? = Audience(levels[0])
        else { return nil }
        guard levels.count > 2 else { return (group, .control) }
        if levels[2] == "lease" { return (group, .lease) }
        guard levels[2].hasPrefix("log/"), let slot = Int64(levels[2].dropFirst(4)),
            levels[2] == "log/\(slot)"
        else { return nil }
        return (group, .audit(slot: slot))
    }

    /// Whether a topic, or a filter, is one of a group.
    package func isOfGroup(_ topic: String) -> Bool { topic.hasPrefix("\(root)/@") }

    /// The filters that an agent in `groups` subscribes to.
    package func filters(of agent: String, groups: [String]) -> [String] {
        return [
            "\(root)/\(agent)/cmd/+", map(of: .agent(agent)), patch(of: agent), self.groups(of: agent),
            echo(of: agent),
        ] + (["all"] + groups).flatMap(filters)
    }

    /// The filters that the members of a group subscribe to.
    package func filters(ofGroup group: String) -> [String] {
        let audience = Audience.group(group)
        return ["\(root)/\(audience)/cmd/+", map(of: audience), rollout(of: group)]
    }

    // MARK: From an agent

    package func reply(of agent: String, to sender: String) -> String { "\(root)/\(agent)/reply/\(sender)" }
    package func applied(of agent: String) -> String { "\(root)/\(agent)/map/applied" }
    package func log(of agent: String, level: LogLevel) -> String {
        "\(root)/\(agent)/log/\(level.topicLevel)"
    }
    /// The filter for the events of all levels.
    package func logs(of agent: String) -> String { "\(root)/\(agent)/log/+" }
    package func failures(of agent: String) -> String { "\(root)/\(agent)/fail" }
    package func state(of agent: String) -> String { "\(root)/\(agent)/state" }
    package func health(of agent: String) -> String { "\(root)/\(agent)/health" }
    package func routes(of agent: String) -> String { "\(root)/\(agent)/routes" }
    package func navigation(of agent: String) -> String { "\(root)/\(agent)/navigation" }
    package func contract(of agent: String) -> String { "\(root)/\(agent)/contract" }

    /// The documents that the broker keeps of an agent, as the agent itself publishes them.
    package func documents(of agent: String) -> [String] {
        [
            state(of: agent), health(of: agent), routes(of: agent), contract(of: agent),
            navigation(of: agent),
            applied(of: agent),
        ]
    }
}
