import Threading
import WaypostBackend
import WaypostMessages

/// Draws what is known as the lines of one screen: agents above, then failures, then the log with the newest below.
struct WatchScreen {
    var rows: Int
    var columns: Int
    var style: Style

    /// The keys, for the page that ? shows.
    private static let keys = [
        ("↑ ↓  k j", "one line back, or on; back also pauses"), ("PgUp PgDn  b", "half a screen"),
        ("Home End  g G", "to the oldest line, to the newest"), ("space  p", "pause, and go on"),
        ("/", "filter lines: tag:Router level:W -message:demo"),
        ("Tab  n", "choose the next agent; N the one before"),
        ("return", "details of the chosen agent"), ("Esc", "back; on the first page, without the filter"),
        ("?  h", "this page"), ("q", "quit"),
    ]

    /// The lines, at most `rows`, each at most `columns` wide.
    func lines(
        _ current: WatchModel, _ view: WatchView = WatchView(), now: Int64 = WallClock.now()
    ) -> [TerminalText] {
        guard rows > 0, columns > 0 else { return [] }
        let model = view.paused ?? current
        let top = head(current, view)
        let lines =
            switch view.page {
            case .overview: overview(model, view, now)
            case .agent(let agent): page(of: agent, model, view, now)
            case .help: Self.keys.map { fitted("  \($0.0.padding(to: 16))\($0.1)") }
            }
        return Array(([top] + lines).prefix(rows))
    }

    private func overview(_ model: WatchModel, _ view: WatchView, _ now: Int64) -> [TerminalText] {
        let query = view.query?.query
        let failures = model.failures.filter { query?.holds(for: $0, now: now) ?? true }
            .suffix(max(2, rows / 4 - 1))
        // A third for the agents, a quarter for failures, what is left for the log; what that does not need, too.
        let free = rows - 3 - failures.count - model.lines.count
        let table = AgentTable(model.roster.summaries(now: now), now: now).rows(within: columns)
        var lines = part(table, around: view.selected, within: max(3, rows / 3, free)) { row in
            let text = fitted(row.lines[0])
            return row.agent != nil && row.agent == view.selected
                ? style.reversed(text) : row.drawn(text, style)
        }
        let past =
            model.pastFailures > 0
            ? ", \(model.pastFailures) before" : model.unaskedPast.map { "; \($0)" } ?? ""
        lines.append(title("failures", "\(model.failureCount) since the start\(past)"))
        let width = nameWidth(model)
        lines += failures.map { draw($0, width) }
        lines.append(title("log", logState(model, view)))
        let space = max(0, rows - 1 - lines.count)
        lines += model.lines(of: query, now: now).dropFirst(view.offset).prefix(space).reversed()
            .map { draw($0, width) }
        return lines
    }

    private func logState(_ model: WatchModel, _ view: WatchView) -> String {
        let parts = [
            view.query.map { "filter \($0.text)" },
            view.paused.map { _ in view.offset > 0 ? "paused, \(view.offset) lines back" : "paused" },
            model.lines.isEmpty ? "nothing so far" : nil,
        ]
        return parts.compactMap(\.self).joined(separator: "; ")
    }

    /// All that is known of one agent, then its failures and its last lines.
    private func page(
        of agent: String, _ model: WatchModel, _ view: WatchView, _ now: Int64
    ) -> [TerminalText] {
        let width = nameWidth(model)
        let mine = model.lines(of: view.query?.query, now: now).filter { $0.agent == agent }
        let failures = model.failures.filter { $0.agent == agent }
        let all =
            AgentPage(agent, model.roster).lines(Style(isOn: false), now: now, within: columns)
            .map { fitted($0.text) }
            + [title("failures", failures.isEmpty ? "none since the start" : "")]
            + failures.flatMap { wrapped($0) }
            + [title("log", "the newest first")] + mine.map { draw($0, width) }
        return Array(all.dropFirst(min(view.offset, max(0, all.count - rows + 1))))
    }

    private func head(_ model: WatchModel, _ view: WatchView) -> TerminalText {
        if let typed = view.typed {
            let fault = view.fault.map { "  \($0)" } ?? "  return applies, Esc cancels"
            let line = fitted("/\(typed)_\(fault)")
            return view.fault == nil ? style.bold(line) : style.red(line)
        }
        let members = model.roster.members
        let online = members.values.count { $0.isOnline == true }
        let loss = (model.loss.notices + [model.roster.gap].compactMap(\.self)).map { "  " + $0 }.joined()
        // Why there is no connection comes first: it is long, and it is what matters then.
        let (counts, keys) = ("\(online) of \(members.count) agents online", "? help  q quits")
        let parts = model.isConnected ? [counts, keys, model.link] : [model.link, counts, keys]
        let text = fitted("waypost  \(parts.joined(separator: "  "))\(loss)")
        return model.isConnected ? style.bold(text) : style.red(text)
    }

    /// The first lines of a list that may be too long, or those up to the chosen one, and how many are left out.
    private func part(
        _ table: [AgentTable.Row], around agent: String?, within limit: Int,
        _ draw: (AgentTable.Row) -> TerminalText
    ) -> [TerminalText] {
        guard table.count > limit else { return table.map(draw) }
        let chosen = agent.flatMap { agent in table.firstIndex { $0.agent == agent } } ?? 0
        let first = max(1, chosen - (limit - 3))
        let shown = [table[0]] + table[first...].prefix(limit - 2)
        let hidden = table[1..<first] + table[first...].dropFirst(limit - 2)
        let trouble = hidden.count { $0.condition?.isTrouble == true }
        let more =
            "… and \(hidden.count) more" + (trouble > 0 ? ", \(trouble) of them lost or with problems" : "")
        return shown.map(draw)
            + [trouble > 0 ? style.red(fitted(more)) : style.dim(fitted(more))]
    }

    private func title(_ name: String, _ more: String) -> TerminalText {
        let text = "── \(name) " + (more.isEmpty ? "" : "(\(more)) ")
        return style.cyan(fitted(text + String(repeating: "─", count: max(0, columns - text.count))))
    }

    /// The longest name of an agent.
    private func nameWidth(_ model: WatchModel) -> Int {
        model.roster.members.keys.lazy.map(\.utf8.count).max() ?? 0
    }

    private func draw(_ line: AgentEvent, _ width: Int) -> TerminalText {
        let name = line.agent + String(repeating: " ", count: max(0, width - line.agent.utf8.count))
        return style.line(fitted("\(name) \(line.event.threadTime())"), at: line.event.level)
    }

    /// A line with all that it says, on as many lines of the screen as that takes.
    private func wrapped(_ line: AgentEvent) -> [TerminalText] {
        line.event.threadTime().printable.wrapped(to: columns).map {
            style.line(TerminalText($0), at: line.event.level)
        }
    }

    /// As much as fits into a line; escaped first, for that makes it longer.
    private func fitted(_ text: String) -> TerminalText { TerminalText(text.printable.fitted(to: columns)) }

    /// The bytes that put the lines on the terminal, over what is there.
    static func drawing(_ lines: [TerminalText]) -> TerminalText {
        var drawing = TerminalText(codes: "\u{1B}[H")
        for (index, line) in lines.enumerated() {
            if index > 0 { drawing = drawing + TerminalText(codes: "\r\n") }
            drawing = drawing + line + TerminalText(codes: "\u{1B}[K")
        }
        return drawing + TerminalText(codes: "\u{1B}[J")
    }
}
