import Waypost

/// Which agents of a list are meant, and in which order.
package struct RosterFilter: Sendable {
    /// What a list can be sorted by.
    package enum Order: String, Sendable, CaseIterable {
        /// Those that need attention first.
        case attention
        case name, state, since, health, version, problem
    }

    /// The words that ``states`` may hold.
    package static let words = ["online", "lost", "shut-down", "offline", "unknown"]

    /// Empty for all.
    package var names: [String]
    package var group: String?
    /// Empty for all; see ``words``.
    package var states: [String]
    /// Only those with something to be said of them.
    var haveProblem: Bool
    package var version: String?
    package var order: Order

    package init(
        names: [String] = [], group: String? = nil, states: [String] = [], haveProblem: Bool = false,
        version: String? = nil, order: Order = .attention
    ) {
        (self.names, self.group, self.states) = (names, group, states)
        (self.haveProblem, self.version, self.order) = (haveProblem, version, order)
    }

    /// The agents of a roster, in order.
    package func agents(of roster: Roster, now: Int64) -> [AgentSummary] {
        let chosen = roster.summaries(now: now).filter { agent in
            guard let member = roster.members[agent.agent] else { return false }
            return holds(for: agent, member, now)
        }
        return switch order {
        case .attention: chosen
        case .name: chosen.sorted { $0.agent < $1.agent }
        case .state: chosen.sorted { ($0.state, $0.agent) < ($1.state, $1.agent) }
        // The newest first, as what has changed last is what one looks for.
        case .since: chosen.sorted { ($1.since ?? .min, $0.agent) < ($0.since ?? .min, $1.agent) }
        case .health: chosen.sorted { ($0.health, $0.agent) < ($1.health, $1.agent) }
        case .version: chosen.sorted { ($0.version, $0.agent) < ($1.version, $1.agent) }
        case .problem:
            chosen.sorted {
                ($0.problem.isEmpty ? "\u{10FFFF}" : $0.problem, $0.agent) < (
                    $1.problem.isEmpty ? "\u{10FFFF}" : $1.problem, $1.agent
                )
            }
        }
    }

    /// Whether an agent is meant.
    package func holds(for agent: AgentSummary, _ member: Roster.Member, _ now: Int64) -> Bool {
        (names.isEmpty || names.contains(agent.agent))
            && group.map(member.isIn) ?? true
            && (states.isEmpty || states.contains { isInState($0, agent.condition) })
            && (!haveProblem || agent.condition.isTrouble
                // Why it was shut down is none.
                || agent.condition != .stopped && !agent.problemText(now).isEmpty)
            && version.map { agent.version == $0 } ?? true
    }

    /// The names that no agent has, each with the nearest that one has.
    package func unknownNames(in roster: Roster) -> [(name: String, nearest: [String])] {
        names.filter { roster.members[$0] == nil }.map { name in
            (name, NearestNames.find(name, among: roster.members.keys, limit: 1, slips: 2))
        }
    }

    private func isInState(_ word: String, _ condition: Roster.Condition) -> Bool {
        switch word {
        case "lost": condition == .lost
        case "shut-down": condition == .stopped
        case "offline": condition == .lost || condition == .stopped
        case "unknown": condition == .unknown
        default: [.failing, .mapRefused, .unclear, .healthy].contains(condition)
        }
    }
}
