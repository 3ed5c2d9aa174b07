package import MQTTLink
import Waypost
import WaypostFleet
package import WaypostMessages

/// Why an agent may not have replied, from what the broker keeps about it.
package struct NoReplyDiagnosis {
    private let audience: Audience
    private var roster: Roster
    /// Those that were online at any time since they were asked.
    private var wereOnline: Set<String> = []

    package init(_ audience: Audience, topics: Topics) {
        self.audience = audience
        roster = Roster(topics: topics)
    }

    /// What to subscribe to, so that there is something to say.
    package static func filters(of audience: Audience, _ topics: Topics) -> [String] {
        switch audience {
        case .agent(let agent): [topics.state(of: agent), topics.health(of: agent)]
        case .group: [topics.state(of: "+"), topics.health(of: "+")]
        }
    }

    /// Takes note of a message that may be about an agent's presence.
    package mutating func saw(_ message: MQTTMessage) {
        roster.saw(message)
        guard let (agent, _) = roster.topics.outbound(message.topic),
            roster.members[agent]?.isOnline ?? false
        else { return }
        wereOnline.insert(agent)
    }

    /// The agents that were asked, as far as they are known.
    private var asked: [String: Roster.Member] {
        switch audience {
        case .agent(let agent): roster.members.filter { $0.key == agent }
        case .group(let group): roster.members.filter { $0.value.isIn(group) }
        }
    }

    /// Whether the broker keeps anything of the agent, or of one in the group; every agent is in the group all.
    package var knowsReceivers: Bool {
        switch audience {
        case .agent(let agent): roster.members[agent] != nil
        case .group: audience == .all || !asked.isEmpty
        }
    }

    /// Whether the agent was offline all the time since it was asked; never of a group.
    package var isKnownOffline: Bool {
        guard case .agent(let agent) = audience else { return false }
        return roster.members[agent]?.isOnline == false && !wereOnline.contains(agent)
    }

    /// Whether the agent is there now; nil of a group, and while it is not known.
    var isOnline: Bool? {
        guard case .agent(let agent) = audience else { return nil }
        return roster.members[agent]?.isOnline
    }

    /// The members of a group that did not reply.
    func silentAgents(besides answered: Set<String>) -> [SilentAgent] {
        asked.filter { !answered.contains($0.key) }.sorted { $0.key < $1.key }.map { name, member in
            SilentAgent(name: name, isOnline: member.isOnline, isStopped: member.isStopped)
        }
    }

    /// The members of a group that are worth waiting for; nil when they are not known.
    ///
    /// - Parameter isPatient: whether those that are offline are waited for too.
    package func awaited(isPatient: Bool) -> [String]? {
        let names = asked.keys.filter { isPatient || wereOnline.contains($0) }
        return names.isEmpty || roster.isFull ? nil : names
    }

    /// One sentence about the members of a group that did not reply; nil when all did that are known.
    package func silence(besides answered: Set<String>, after limit: String?) -> String? {
        guard case .group(let group) = audience else { return nil }
        let asked = asked
        let silent = asked.filter { !answered.contains($0.key) }
        guard !silent.isEmpty else { return nil }
        let names = silent.sorted { $0.key < $1.key }.map { name, member in
            (member.isOnline ?? true)
                ? name : "\(name) (\(member.isStopped ? "shut down" : "connection lost"))"
        }
        let shown = names.prefix(Self.shownNames).joined(separator: ", ")
        let rest = names.count > Self.shownNames ? " and \(names.count - Self.shownNames) more" : ""
        let waited = limit.map { " within \($0)" } ?? ""
        let all = asked.count.counted("agent") + Self.members(group)
        return "\(silent.count) of \(all) did not reply\(waited): " + shown + rest
    }

    /// Whose agents they are; empty for all.
    private static func members(_ group: String) -> String {
        Audience.group(group) == .all ? "" : " of group \(group)"
    }

    /// Names of agents in one sentence.
    private static let shownNames = 20

    /// One sentence: who did not reply for how long, and what is known about it.
    ///
    /// - Parameter limit: How long it was waited for; nil when it was not, because it is offline.
    package func explanation(after limit: String?) -> String {
        let waited = limit.map { " within \($0)" } ?? ""
        let advice = limit == nil ? "; to wait for it: --wait 1m" : ""
        return switch audience {
        case .group(let group):
            silence(besides: [], after: limit)
                ?? "no reply from any agent\(Self.members(group))\(waited); see: waypost agents"
        case .agent(let agent): "no reply from \(agent)\(waited); \(knowledge(of: agent))\(advice)"
        }
    }

    private func knowledge(of agent: String) -> String {
        guard let member = roster.members[agent] else {
            return "there is no agent \(agent) at this broker; see: waypost agents"
        }
        guard let state = member.state else {
            return
                "the broker keeps no state of it, \(member.isOnline == true ? "and it speaks, " : "")but it does "
                + "not answer; see: waypost doctor --agent \(agent)"
        }
        guard member.isOnline != true else {
            return "it reports that it is online (MQTT \(state.mqttVersion)), but it does not answer; "
                + "see: waypost doctor --agent \(agent)"
        }
        let manner = state.reason == .shutdown ? "it was shut down" : "its connection was lost"
        let since = member.health?.at.map { "; its last health is from \(Timestamp.local($0))" } ?? ""
        return "it is offline: \(manner)\(since); "
            + "the broker keeps the message, and the agent gets it if it comes back in time"
    }
}
