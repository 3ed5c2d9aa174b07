package import Waypost
import WaypostMessages

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
    var states: [String]
    /// Only those with something to be said of them.
    var haveProblem: Bool
    package var version: String?
    /// Labels that an agent must have, with these values.
    package var labels: [String: String]
    /// Only of these versions of the app.
    var app: AppRange?
    var order: Order

    package init(
        names: [String] = [], group: String? = nil, states: [String] = [], haveProblem: Bool = false,
        version: String? = nil, labels: [String: String] = [:], app: AppRange? = nil,
        order: Order = .attention
    ) {
        (self.names, self.group, self.states) = (names, group, states)
        (self.haveProblem, self.version, self.order) = (haveProblem, version, order)
        (self.labels, self.app) = (labels, app)
    }

    /// The agents of a roster, in order.
    package func agents(of roster: Roster, now: Int64) -> [AgentStatus] {
        let chosen = roster.summaries(now: now).filter { agent in
            guard let member = roster.members[agent.name] else { return false }
            return holds(for: agent, member, now)
        }
        return switch order {
        case .attention: chosen
        case .name: chosen.sorted { $0.name < $1.name }
        case .state: chosen.sorted { ($0.state, $0.name) < ($1.state, $1.name) }
        // The newest first, as what has changed last is what one looks for.
        case .since: chosen.sorted { ($1.since ?? .min, $0.name) < ($0.since ?? .min, $1.name) }
        case .health: chosen.sorted { ($0.health, $0.name) < ($1.health, $1.name) }
        case .version: chosen.sorted { ($0.version, $0.name) < ($1.version, $1.name) }
        case .problem:
            chosen.sorted {
                ($0.problem.isEmpty ? "\u{10FFFF}" : $0.problem, $0.name) < (
                    $1.problem.isEmpty ? "\u{10FFFF}" : $1.problem, $1.name
                )
            }
        }
    }

    /// Those that all else fits, and that do not say a label or the version of the app that is asked for; by name.
    package func silent(of roster: Roster, now: Int64) -> [String] {
        guard !labels.isEmpty || app != nil else { return [] }
        return roster.members.compactMap { name, member in
            fits(AgentStatus(name, member, now: now), member, now) && says(member.health) == nil ? name : nil
        }.sorted()
    }

    /// Whether an agent is meant.
    package func holds(for agent: AgentStatus, _ member: Roster.Member, _ now: Int64) -> Bool {
        fits(agent, member, now) && says(member.health) == true
    }

    private func fits(_ agent: AgentStatus, _ member: Roster.Member, _ now: Int64) -> Bool {
        (names.isEmpty || names.contains(agent.name))
            && group.map(member.isIn) ?? true
            && (states.isEmpty || states.contains { isInState($0, agent.condition) })
            && (!haveProblem || agent.condition.isTrouble
                // Why it was shut down is none.
                || agent.condition != .stopped && !agent.problemText(now).isEmpty)
            && version.map { agent.version == $0 } ?? true
    }

    /// Whether an agent says of itself what is asked for; nil when it does not say all of that, and nothing else.
    private func says(_ health: Health?) -> Bool? {
        let known = labels.isEmpty ? [:] : health?.labels ?? [:]
        var answers = labels.map { name, value in
            // The value of a secret is masked, and says nothing.
            known[name].flatMap { $0 == "***" ? nil : $0 == value }
        }
        if let app { answers.append(health?.build.map(app.contains)) }
        if answers.contains(false) { return false }
        return answers.contains(nil) ? nil : true
    }

    /// The names that no agent has, each with the nearest that one has.
    package func unknownNames(in roster: Roster) -> [(name: String, nearest: [String])] {
        guard roster.gap == nil else { return [] }
        return names.filter { roster.members[$0] == nil }.map { name in
            (name, NearestNames.find(name, among: roster.members.keys, limit: 1, slips: 2))
        }
    }

    private func isInState(_ word: String, _ condition: AgentStatus.Condition) -> Bool {
        switch word {
        case "lost": condition == .lost
        case "shut-down": condition == .stopped
        case "offline": condition == .lost || condition == .stopped
        case "unknown": condition == .unknown
        default: [.failing, .mapRefused, .unclear, .healthy].contains(condition)
        }
    }
}
