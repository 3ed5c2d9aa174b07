import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

/// Whether what goes to an agent's groups reaches it.
///
/// The agent can't know it: a broker may grant the subscription and deliver nothing. Only an answer shows it.
struct GroupCheck {
    /// So many of its groups are tried, and none with more members: all of them answer.
    private static let most = (groups: 16, members: 100)

    let agent: String
    let topics: Topics
    let sender: String
    let wait: WaitOptions

    /// What the agent refused, and whether it answers in its groups.
    func findings(_ roster: Roster, _ session: BackendSession) async throws -> [DoctorFinding] {
        let refused = roster.members[agent]?.health?.saidGroups?.refused.map { refused in
            DoctorFinding(
                "groups", .warning,
                "\(agent) refused the newest document of its groups: \(refused.code): \(refused.detail)",
                advice:
                    "waypost groups --agent \(agent) shows what is in force; see also: waypost groups --help")
        }
        return try await [refused].compactMap(\.self) + answers(roster, session)
    }

    /// Sends a ping to each group, and looks whether the agent answers; it is one that answers what goes to itself.
    private func answers(_ roster: Roster, _ session: BackendSession) async throws -> [DoctorFinding] {
        let members = roster.members.values
        let groups = (roster.members[agent]?.groups ?? []).prefix(Self.most.groups).filter { group in
            members.count { $0.groups?.contains(group) == true } <= Self.most.members
        }
        var asked: [String: String] = [:]
        for group in groups {
            let command = Command(sending: .ping())
            do {
                try await session.publish(
                    .json(topics.command(to: .group(group), from: sender), command.encoded()))
                asked[command.id] = group
            } catch let error as BackendError where error.exit == .failed {
                // It may not, which is no matter of the agent.
            }
        }
        guard !asked.isEmpty else { return [] }
        var silent = asked
        _ = try await session.wait(wait.duration) { message in
            guard message.topic == topics.reply(of: agent, to: sender),
                let reply = message.json.flatMap({ try? Reply($0) })
            else { return false }
            silent[reply.id] = nil
            return silent.isEmpty
        }
        guard silent.isEmpty else { return silent.values.sorted().map(unanswered) }
        return [
            DoctorFinding(
                "groups", .ok, "\(agent) answers in \(asked.values.sorted().joined(separator: ", "))")
        ]
    }

    private func unanswered(_ group: String) -> DoctorFinding {
        let topic = "\(topics.root)/\(Audience.group(group))"
        return DoctorFinding(
            "groups", .failed,
            "\(agent) says that it is in group \(group), and does not answer a ping to it within "
                + wait.text,
            advice:
                "let \(agent) read \(topic)/cmd/+, \(topic)/map, \(topic)/map/next and \(topic)/rollout in the "
                + "broker's rules; make-certs --agent \(agent)@\(group) writes the shipped ones")
    }
}
