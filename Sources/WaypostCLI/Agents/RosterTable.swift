import Waypost
import WaypostBackend
import WaypostMessages

extension Roster {
    /// A line of the table.
    struct Row: Sendable {
        /// Escaped already, for the widths of the columns count what is shown.
        var text: String
        /// Nil for the head line, as is the condition.
        var agent: String?
        var condition: Condition?

        /// The text, or what fits of it, in the colour of the row.
        func drawn(_ text: TerminalText, _ style: Style) -> TerminalText {
            switch condition {
            case nil: style.bold(text)
            case .healthy: text
            case .lost: style.red(text)
            case .failing, .mapRefused, .unclear: style.yellow(text)
            case .stopped, .unknown: style.dim(text)
            }
        }
    }

    /// A table for people, head line first.
    func table(_ style: Style, now: Int64 = WallClock.now(), isWide: Bool = false) -> [TerminalText] {
        rows(now: now, isWide: isWide).map { $0.drawn(TerminalText($0.text), style) }
    }

    /// The row of one agent with nothing but a space between the cells; nil when there is no such agent.
    func line(of agent: String, _ style: Style, now: Int64, isWide: Bool) -> TerminalText? {
        guard let member = members[agent] else { return nil }
        let cells = cells(AgentSummary(agent, member), now, isWide: isWide)
        let row = Row(text: TextTable.joined(cells), agent: agent, condition: member.condition)
        return row.drawn(TerminalText(row.text), style)
    }

    /// The lines of the table, head line first, then the agents that need attention.
    func rows(now: Int64, isWide: Bool = false) -> [Row] {
        let summaries = summaries
        let head =
            ["AGENT", "STATE", "SINCE", "HEALTH", "MAP", "VERSION", "MQTT", "PROBLEM"]
            + (isWide ? ["UP", "GROUPS", "BROKER", "HEALTH OF"] : [])
        let lines = TextTable.lines(head: head, rows: summaries.map { cells($0, now, isWide: isWide) })
        return [Row(text: lines[0])]
            + zip(lines.dropFirst(), summaries).map {
                Row(text: $0, agent: $1.agent, condition: $1.condition)
            }
    }

    private func cells(_ agent: AgentSummary, _ now: Int64, isWide: Bool) -> [String] {
        let cells = [
            agent.agent, agent.state, agent.sinceText(now), agent.health, agent.map, agent.version,
            agent.mqtt, agent.problem,
        ]
        return (cells + (isWide ? further(agent.agent, now) : [])).map(TextTable.cell)
    }

    /// The cells of the wide table behind the others.
    private func further(_ agent: String, _ now: Int64) -> [String] {
        let member = members[agent]
        let health = member?.health
        let groups = (health?.groups ?? []).joined(separator: ",")
        return [
            member?.isOnline == true ? health?.uptime ?? "?" : "-", groups.isEmpty ? "-" : groups,
            member?.healthJSON?["broker"]?.stringValue ?? "?",
            health?.at.map { AgentSummary.ago($0, now) } ?? "?",
        ]
    }
}
