import WaypostMessages

/// Draws what is known as the lines of one screen: agents above, then failures, then the log with the newest below.
struct WatchScreen {
    var rows: Int
    var columns: Int
    var style: Style

    /// The lines, at most `rows`, each at most `columns` wide.
    func lines(_ model: WatchModel, now: Int64 = WallClock.now()) -> [TerminalText] {
        guard rows > 0, columns > 0 else { return [] }
        var lines = [head(model)]
        let table = model.roster.rows(now: now)
        // A third for the agents, a quarter for failures, what is left for the log.
        lines += part(table, within: max(3, rows / 3)) { row in
            row.drawn(fitted(row.text), style)
        }
        let failures = model.failures.suffix(max(2, rows / 4 - 1))
        lines.append(title("failures", "\(model.failureCount) since the start"))
        lines += failures.map { draw($0, model) }
        lines.append(title("log", model.lines.isEmpty ? "nothing so far" : ""))
        lines += model.lines.suffix(max(0, rows - lines.count)).map { draw($0, model) }
        return Array(lines.prefix(rows))
    }

    private func head(_ model: WatchModel) -> TerminalText {
        let members = model.roster.members
        let online = members.values.count { $0.isOnline == true }
        let loss = model.loss.notices.map { "  " + $0 }.joined()
        let text = fitted(
            "waypost  \(model.link)  \(online) of \(members.count) agents online  q quits\(loss)")
        return model.isConnected ? style.bold(text) : style.red(text)
    }

    /// The first lines of a list that may be too long, and how many are left out.
    private func part(
        _ table: [Roster.Row], within limit: Int, _ draw: (Roster.Row) -> TerminalText
    ) -> [TerminalText] {
        guard table.count > limit else { return table.map(draw) }
        let hidden = table.dropFirst(limit - 1)
        let trouble = hidden.count { $0.condition?.isTrouble == true }
        let more =
            "… and \(hidden.count) more" + (trouble > 0 ? ", \(trouble) of them lost or with problems" : "")
        return table.prefix(limit - 1).map(draw)
            + [trouble > 0 ? style.red(fitted(more)) : style.dim(fitted(more))]
    }

    private func title(_ name: String, _ more: String) -> TerminalText {
        let text = "── \(name) " + (more.isEmpty ? "" : "(\(more)) ")
        return style.cyan(fitted(text + String(repeating: "─", count: max(0, columns - text.count))))
    }

    private func draw(_ line: LogLine, _ model: WatchModel) -> TerminalText {
        let width = model.roster.members.keys.map(\.count).max() ?? 0
        let name = line.agent + String(repeating: " ", count: max(0, width - line.agent.count))
        return style.line(fitted("\(name) \(line.event.threadTime())"), at: line.event.level)
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
