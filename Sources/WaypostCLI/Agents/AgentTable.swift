import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// A table of agents, for people.
struct AgentTable {
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

    /// Those that need attention first, unless they are in another order.
    var agents: [AgentStatus]
    let now: Int64
    let isWide: Bool

    init(_ agents: [AgentStatus], now: Int64 = WallClock.now(), isWide: Bool = false) {
        (self.agents, self.now, self.isWide) = (agents, now, isWide)
    }

    /// The lines for people, head line first.
    ///
    /// - Parameter width: of the terminal; nil where there is none.
    func lines(_ style: Style, within width: Int? = nil, wraps: Bool = false) -> [TerminalText] {
        rows(within: width, wraps: wraps).flatMap { row in
            row.lines.map { row.drawn(TerminalText($0), style) }
        }
    }

    /// The rows alone, with nothing but a space between the cells.
    func bareLines(_ style: Style) -> [TerminalText] {
        agents.map { agent in
            let line = TextTable.joined(cells(agent))
            return Row(lines: [line], agent: agent.name, condition: agent.condition).drawn(
                TerminalText(line), style)
        }
    }

    /// The rows of the table, head line first.
    func rows(within width: Int? = nil, wraps: Bool = false) -> [Row] {
        let table = TextTable(columns: columns, rows: agents.map(cells))
        let lines = table.lines(within: width, wraps: wraps)
        return [Row(lines: lines[0])]
            + zip(lines.dropFirst(), agents).map { Row(lines: $0, agent: $1.name, condition: $1.condition) }
    }

    private var columns: [TextTable.Column] {
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

    private static func text(of labels: [String: String]) -> String {
        let labels = labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return labels.isEmpty ? "-" : labels.joined(separator: ",")
    }

    private func cells(_ agent: AgentStatus) -> [String] {
        let wide =
            isWide
            ? [
                agent.isOnline == true
                    ? agent.started.map { TimeText.span(now.subtracting(clamping: $0)) } ?? "?" : "-",
                agent.groups.isEmpty ? "-" : agent.groups.joined(separator: ","),
                agent.build ?? "-", agent.labels.map(Self.text) ?? "?", agent.broker ?? "?",
            ] : []
        return
            ([
                agent.name, agent.state, agent.sinceText(now), agent.health, agent.asOfText(now), agent.map,
                agent.version, agent.mqtt,
            ] + wide + [agent.problemText(now)]).map(TextTable.cell)
    }
}
