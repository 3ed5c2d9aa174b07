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
    /// The command that they do not reply to; nil when it is something else.
    package var command: String?
    /// Those that said that they took it on.
    private var accepted: Set<String> = []
    /// How many replies came that can't be read, by who sent them.
    private var unread: [String: Int] = [:]

    package init(_ audience: Audience, topics: Topics) {
        self.audience = audience
        roster = Roster(topics: topics)
    }

    /// What to subscribe to, so that there is something to say.
    static func filters(of audience: Audience, _ topics: Topics) -> [String] {
        switch audience {
        case .agent(let agent): [topics.state(of: agent), topics.health(of: agent)]
        case .group: [topics.state(of: "+"), topics.health(of: "+")]
        }
    }

    /// Takes note of a message that may be about an agent's presence.
    package mutating func saw(_ message: MQTTMessage) {
        roster.saw(message)
        guard let (agent, content) = roster.topics.outbound(message.topic) else { return }
        if case .reply = content { note(message.json.flatMap { try? Reply($0) }, of: agent) }
        if roster.members[agent]?.isOnline ?? false { wereOnline.insert(agent) }
    }

    private mutating func note(_ reply: Reply?, of agent: String) {
        guard let reply else { return unread[agent, default: 0] += 1 }
        if let command, reply.id == command, reply.status == .accepted { accepted.insert(agent) }
    }

    /// What is to be said of replies that can't be read; empty where there are none.
    private func unreadText(of agents: some Sequence<String>) -> String {
        let count = agents.reduce(0) { $0 + (unread[$1] ?? 0) }
        return count == 0 ? "" : "; \(count.counted("reply", "replies")) came that can't be read"
    }

    /// Whether it said that it took the command on.
    func hasAccepted(_ agent: String) -> Bool { accepted.contains(agent) }

    /// The agents that were asked, as far as they are known.
    private var asked: [String: Roster.Member] {
        switch audience {
        case .agent(let agent): roster.members.filter { $0.key == agent }
        case .group(let group): roster.members.filter { $0.value.isIn(group) }
        }
    }

    /// Whether the broker keeps anything of the agent, or of one in the group; every agent is in the group all.
    var knowsReceivers: Bool {
        switch audience {
        case .agent(let agent): roster.members[agent] != nil
        case .group: audience == .all || !asked.isEmpty
        }
    }

    /// Whether the agent was offline all the time since it was asked; never of a group.
    var isKnownOffline: Bool {
        guard case .agent(let agent) = audience else { return false }
        return roster.members[agent]?.isOnline == false && !wereOnline.contains(agent)
    }

    /// Whether the agent is there now; nil of a group, and while it is not known.
    var isOnline: Bool? {
        guard case .agent(let agent) = audience else { return nil }
        return roster.members[agent]?.isOnline
    }

    /// What to say of an agent that is not asked, since it is offline; nil where it may answer.
    var unasked: Wording? {
        guard isKnownOffline, case .agent(let agent) = audience, let member = roster.members[agent] else {
            return nil
        }
        return
            "\(agent) was not asked: \(offline(member)); it says what it knows when it is back\(shell: "; to ask it then: --wait 1h")"
    }

    /// The names of those that were asked and whose health is so.
    func agents(where isSo: (Health) -> Bool) -> [String] {
        asked.filter { $0.value.health.map(isSo) == true }.keys.sorted()
    }

    /// Refuses a command with a time, or for some clients, where an agent does not know of that: it would run at once.
    func checkThatTheyKnowConditions() throws(BackendError) {
        let older = agents { $0.limits["commandLife"] == nil }
        guard let first = older.first else { return }
        let rest = older.count > 1 ? " and \(older.count - 1) more" : ""
        throw BackendError(
            .notSent,
            "not sent: \(first)\(rest) would run it at once: of a version without after, window and when")
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
    func awaited(isPatient: Bool) -> [String]? {
        let names = asked.keys.filter { isPatient || wereOnline.contains($0) }
        return names.isEmpty || roster.gap != nil ? nil : names
    }

    /// One sentence about the members of a group that did not reply; nil when all did that are known.
    func silence(besides answered: Set<String>, after limit: String?) -> Wording? {
        guard case .group(let group) = audience else { return nil }
        let asked = asked
        let silent = asked.filter { !answered.contains($0.key) }
        guard !silent.isEmpty else { return nil }
        let names = silent.sorted { $0.key < $1.key }.map { name, member in
            var known = accepted.contains(name) ? ["accepted it"] : []
            if member.isOnline == false { known.append(member.isStopped ? "shut down" : "connection lost") }
            return known.isEmpty ? name : "\(name) (\(known.joined(separator: ", ")))"
        }
        let shown = names.prefix(Self.shownNames).joined(separator: ", ")
        let rest = names.count > Self.shownNames ? " and \(names.count - Self.shownNames) more" : ""
        let waited = limit.map { " within \($0)" } ?? ""
        let all = asked.count.counted("agent") + Self.members(group)
        let missing = silent.keys.contains(where: accepted.contains) ? "gave no result" : "did not reply"
        let found =
            "\(silent.count) of \(all) \(missing)\(waited): " + shown + rest + unreadText(of: silent.keys)
        // One that is there: it does not answer at all, or does not get what goes to the group.
        let odd = silent.filter { $0.value.isOnline == true && !accepted.contains($0.key) }.keys.min()
        return odd.map { "\(found)\(shell: "; see: waypost doctor --agent \($0)")" } ?? "\(found)"
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
    package func explanation(after limit: String?) -> Wording {
        let waited = limit.map { " within \($0)" } ?? ""
        let agents: Wording = "\(shell: "; see: waypost agents")"
        switch audience {
        case .group(let group):
            if let silence = silence(besides: [], after: limit) { return silence }
            return "no reply from any agent\(Self.members(group))\(waited)\(agents)"
        case .agent(let agent):
            guard !accepted.contains(agent) else {
                return "\(agent) accepted it, and gave no result\(waited); \(stateOf(agent))"
            }
            let known = knowledge(of: agent, agents)
            let missing = "no reply from \(agent)\(waited)\(unreadText(of: [agent]))"
            guard limit == nil else { return "\(missing); \(known)" }
            return "\(missing); \(known)\(shell: "; to wait for it: --wait 1m")"
        }
    }

    /// What is known of one that took the command on.
    private func stateOf(_ agent: String) -> Wording {
        guard let member = roster.members[agent], member.isOnline == false else {
            return "it may still be at it"
        }
        return "\(offline(member)); it goes on when it is back"
    }

    private func knowledge(of agent: String, _ agents: Wording) -> Wording {
        let doctor: Wording = "\(shell: "; see: waypost doctor --agent \(agent)")"
        guard let member = roster.members[agent] else {
            return "there is no agent \(agent) at this broker\(agents)"
        }
        guard let state = member.state else {
            return
                "the broker keeps no state of it, \(member.isOnline == true ? "and it speaks, " : "")but it does not answer\(doctor)"
        }
        guard member.isOnline != true else {
            return "it reports that it is online (MQTT \(state.mqttVersion)), but it does not answer\(doctor)"
        }
        return "\(offline(member)); "
            + "the broker keeps the message, and the agent gets it if it comes back in time"
    }

    private func offline(_ member: Roster.Member) -> Wording {
        let manner = member.isStopped ? "it was shut down" : "its connection was lost"
        let since = member.health?.at.map { "; its last health is from \(Timestamp.local($0))" } ?? ""
        return "it is offline: \(manner)\(since)"
    }
}
