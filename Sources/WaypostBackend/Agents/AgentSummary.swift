import WaypostMessages

/// What is to be said of an agent in a list.
package struct AgentSummary: Sendable, Hashable {
    package let agent: String
    package let condition: Roster.Condition
    /// In one word.
    package let state: String
    /// From when on it has been like this, in milliseconds since 1970; nil when that is not known.
    package var since: Int64?
    package let health: String
    /// The revisions of the maps in force.
    package let map: String
    package let version: String
    package let mqtt: String
    /// Empty when there is none.
    package let problem: String

    package init(_ agent: String, _ member: Roster.Member) {
        self.agent = agent
        condition = member.condition
        let (health, isOnline) = (member.health, member.isOnline ?? false)
        state =
            switch condition {
            // A late will does not count, so the word may be that of an agent that is online after all.
            case .failing, .mapRefused, .unclear, .healthy:
                member.state.flatMap { $0.isOnline ? $0.state : nil } ?? "online"
            case .lost: "lost"
            case .stopped: "shut down"
            case .unknown: "unknown"
            }
        // A will has no time of its own: the connection was lost after the last health.
        since =
            (member.state.map { $0.isOnline == isOnline } == true ? member.state?.at : nil)
            ?? (isOnline ? health?.started : health?.at)
        // What was true before it went is true no more.
        self.health = isOnline ? health?.status ?? "?" : "-"
        let map = member.map.map { MapSummary($0) } ?? health?.map
        self.map = map.map { $0.revisions.isEmpty ? "none" : $0.revisions } ?? "?"
        version = member.state?.version ?? "?"
        mqtt = member.state?.mqttVersion ?? "?"
        let problems =
            (isOnline
                ? (health?.problems ?? []) + (health?.unknowns.map(\.text) ?? [])
                    + [health?.waiting].compactMap(\.self)
                : [member.state?.last?.text].compactMap(\.self))
            + [map?.refusal].compactMap { $0.map { "map " + $0 } }
        problem = problems.joined(separator: "; ")
    }

    /// For how long: `3 min ago`, or `?`.
    package func sinceText(_ now: Int64) -> String { since.map { Self.ago($0, now) } ?? "?" }

    /// `3 min ago`; never more than fits.
    package static func ago(_ then: Int64, _ now: Int64) -> String {
        let (span, overflow) = now.subtractingReportingOverflow(then)
        return "\(TimeText.span(overflow ? .max : span)) ago"
    }
}
