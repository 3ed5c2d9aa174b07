import Threading
import Waypost
import WaypostBackend
import WaypostMessages

extension Roster {
    /// A line of the table, or several when cells are wrapped.
    struct Row: Sendable {
        /// Escaped already, for the widths of the columns count what is shown.
        var lines: [String]
        /// Nil for the head line, as is the condition.
        var agent: String?
        var condition: AgentStatus.Condition?

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
    ///
    /// - Parameters:
    ///   - agents: nil for all, those that need attention first.
    ///   - width: of the terminal; nil where there is none.
    func table(
        _ style: Style, now: Int64 = WallClock.now(), isWide: Bool = false, agents: [AgentStatus]? = nil,
        within width: Int? = nil, wraps: Bool = false
    ) -> [TerminalText] {
        rows(now: now, isWide: isWide, agents: agents, within: width, wraps: wraps).flatMap { row in
            row.lines.map { row.drawn(TerminalText($0), style) }
        }
    }

    /// The row of one agent with nothing but a space between the cells; nil when there is no such agent.
    func line(of agent: String, _ style: Style, now: Int64, isWide: Bool) -> TerminalText? {
        guard let member = members[agent] else { return nil }
        let cells = cells(AgentStatus(agent, member, now: now), now, isWide: isWide)
        let row = Row(lines: [TextTable.joined(cells)], agent: agent, condition: member.condition)
        return row.drawn(TerminalText(row.lines[0]), style)
    }

    /// The lines of the table, head line first, then the agents that need attention.
    func rows(
        now: Int64, isWide: Bool = false, agents: [AgentStatus]? = nil, within width: Int? = nil,
        wraps: Bool = false
    ) -> [Row] {
        let agents = agents ?? summaries(now: now)
        let table = TextTable(
            columns: Self.columns(isWide: isWide), rows: agents.map { cells($0, now, isWide: isWide) })
        let lines = table.lines(within: width, wraps: wraps)
        return [Row(lines: lines[0])]
            + zip(lines.dropFirst(), agents).map { Row(lines: $0, agent: $1.name, condition: $1.condition) }
    }

    private static func columns(isWide: Bool) -> [TextTable.Column] {
        [
            .init("AGENT"), .init("STATE", expendability: 1), .init("SINCE", expendability: 3),
            .init("HEALTH", expendability: 2), .init("AS OF", expendability: 4),
            .init("MAP", expendability: 5),
            .init("VERSION", expendability: 8), .init("MQTT", expendability: 10),
        ]
            + (isWide
                ? [
                    .init("UP", expendability: 7), .init("GROUPS", expendability: 6),
                    .init("APP", expendability: 6), .init("LABELS", expendability: 7),
                    .init("BROKER", expendability: 9),
                ] : []) + [.init("PROBLEM")]
    }

    private static func labels(_ health: Health) -> String {
        let labels = health.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return labels.isEmpty ? "-" : labels.joined(separator: ",")
    }

    private func cells(_ agent: AgentStatus, _ now: Int64, isWide: Bool) -> [String] {
        let member = members[agent.name]
        let wide =
            isWide
            ? [
                member?.isOnline == true
                    ? agent.started.map { TimeText.span(now.subtracting(clamping: $0)) } ?? "?" : "-",
                agent.groups.isEmpty ? "-" : agent.groups.joined(separator: ","),
                member?.health?.build ?? "-",
                member?.health.map(Self.labels) ?? "?",
                member?.health?.broker ?? "?",
            ] : []
        return
            ([
                agent.name, agent.state, agent.sinceText(now), agent.health, agent.asOfText(now), agent.map,
                agent.version, agent.mqtt,
            ] + wide + [agent.problemText(now)]).map(TextTable.cell)
    }
}
