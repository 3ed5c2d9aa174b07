import Waypost
import WaypostBackend
import WaypostMessages

/// A roll-out for people.
struct RolloutText {
    let style: Style
    /// Of the terminal; nil where there is none.
    var width: Int?

    private static let barWidth = 24

    // MARK: Status

    /// The stages as a bar, and each gate with its number.
    func lines(_ status: RolloutStatus) -> [TerminalText] {
        let revisions =
            "\(status.base.map { "rev \($0)" } ?? "no map") → \(status.next.map { "rev \($0)" } ?? "?")"
        let holder =
            status.isOver
            ? ""
            : status.holder.map { ", steered by \($0)" }
                ?? ", without a controller: waypost rollout resume --group \(status.group) goes on"
        let state = TerminalText(status.state)
        let shown =
            switch status.state {
            case "running", "promoting", "done": style.green(state)
            case "paused": style.yellow(state)
            default: style.red(state)
            }
        var lines: [TerminalText] = [
            "\(style.bold(TerminalText(status.id))) in @\(status.group): \(revisions), \(shown)\(holder)"
        ]
        // Without a controller there are no numbers, and 0 of 0 would be some.
        let hasNumbers = !status.gates.isEmpty
        lines.append("  \(hasNumbers ? bar(status) + "  " : "")\(stages(status))")
        if hasNumbers { lines.append("  \(numbers(status))") }
        if let why = status.why { lines.append("  why: \(why)\(status.author.map { " (\($0))" } ?? "")") }
        if let standstill = status.standstill {
            lines.append("  \(style.yellow(TerminalText("verdicts stand still: \(standstill)")))")
        }
        lines += status.notices.map { "  \(style.yellow("note:")) \($0)" }
        return lines + gates(status)
    }

    private func bar(_ status: RolloutStatus) -> String {
        let share = status.online == 0 ? 0 : Double(status.onNext) / Double(status.online)
        var filled = Int((share * Double(Self.barWidth)).rounded())
        if status.onNext > 0 { filled = max(1, filled) }
        filled = min(filled, Self.barWidth)
        return "[" + String(repeating: "#", count: filled)
            + String(repeating: "-", count: Self.barWidth - filled) + "]"
    }

    private func stages(_ status: RolloutStatus) -> String {
        // What was left out was never there.
        status.stages.enumerated().filter { $0.element.agents != 0 }.map { index, stage in
            let isCurrent = index == status.stage && !status.isOver && status.state != "done"
            let isPast = index < status.stage || status.state == "done"
            let count = stage.agents.map { " (\($0))" } ?? ""
            return isCurrent ? "[\(stage.name)\(count)]" : isPast ? "\(stage.name)\(count) ok" : stage.name
        }.joined(separator: "  ")
    }

    private func numbers(_ status: RolloutStatus) -> String {
        let others = status.notOnNext.sorted { $0.key < $1.key }.map { word, count in
            "\(count) \(word)" + (status.missing[word].map { ": \($0.joined(separator: ", "))" } ?? "")
        }
        let left = status.remaining.map {
            guard status.state != "done" else { return "; watched for \(TimeText.span(max(1_000, $0))) more" }
            return $0 > 0 ? "; at least \(TimeText.span(max(1_000, $0))) more" : "; waiting for evidence"
        }
        return "\(status.onNext) of \(status.online.counted("agent")) online have the new map, "
            + "\(status.chosen) are chosen"
            + (others.isEmpty ? "" : " (\(others.joined(separator: "; ")))") + (left ?? "")
    }

    private func gates(_ status: RolloutStatus) -> [TerminalText] {
        guard !status.gates.isEmpty else { return [] }
        let table = TextTable(
            columns: [
                .init("GATE"), .init("VERDICT"), .init("FOUND"), .init("BREACH AT", expendability: 1),
                .init("THEN"),
            ],
            rows: status.gates.map {
                [$0.name, $0.verdict.rawValue, $0.found, $0.limit, $0.consequence.rawValue].map(
                    TextTable.cell)
            })
        let lines = table.lines(within: width.map { max(40, $0 - 2) })
        return zip(lines, [nil] + status.gates.map { Optional($0.verdict) }).flatMap { lines, verdict in
            lines.map { line -> TerminalText in
                let text = TerminalText(line)
                return switch verdict {
                case nil: "  \(style.bold(text))"
                case .breach?: "  \(style.red(text))"
                case .inconclusive?: "  \(style.dim(text))"
                case .pass?: "  \(text)"
                }
            }
        }
    }

    // MARK: Plan

    func lines(_ plan: RolloutPlan) -> [TerminalText] {
        var lines: [TerminalText] = [
            "@\(plan.group): \(plan.base.map { "rev \($0)" } ?? "no map") → \(plan.next.map { "rev \($0)" } ?? "?"); \(plan.online) of \(plan.known.counted("agent")) online"
        ]
        if let only = plan.only {
            lines.append("only of \(only.agents.counted("agent")) with \(only.text)")
            if !only.silent.isEmpty {
                let shown =
                    only.silent.prefix(5).joined(separator: ", ") + (only.silent.count > 5 ? ", …" : "")
                lines.append("  left out, for not saying it, neither yes nor no: \(shown)")
            }
        }
        lines += TextTable.lines(
            plan.stages.enumerated().map { index, stage in
                let more = stage.agents > stage.examples.count ? ", …" : ""
                return TextTable.Entry(
                    name: "stage \(index + 1): \(stage.name)",
                    text: stage.agents.counted("agent") + (stage.examples.isEmpty ? "" : ": ")
                        + stage.examples.joined(separator: ", ") + more
                )
            }, style, within: width)
        for build in plan.builds {
            let name = build.versions.isEmpty ? "?" : build.versions.joined(separator: ", ")
            let changed = build.diff?.destinations?.count
            let what =
                changed.map { "\($0.counted("URL")) would lead elsewhere" }
                ?? "what would change is not known"
            lines.append("\(build.agents.count.counted("agent")) of version \(name): \(what)")
            lines += TextTable.lines(
                (build.diff?.destinations ?? []).prefix(10).map {
                    TextTable.Entry(name: $0.subject, text: "\($0.before) → \($0.after)")
                }, style, within: width)
        }
        lines += plan.notices.prefix(20).map { "\(style.yellow("note:")) \($0)" }
        lines += MapText(style: style).lines(plan.objections)
        lines += plan.faults.map { "\(style.red("must not begin:")) \($0)" }
        if plan.isClear { lines.append("\(style.green("nothing speaks against it"))") }
        return lines
    }

    // MARK: History

    func lines(_ history: RolloutHistory) -> [TerminalText] {
        let table = TextTable(
            columns: [
                .init("N"), .init("WHEN"), .init("ROLL-OUT"), .init("WHAT"), .init("BY", expendability: 1),
                .init("WHY"),
            ],
            rows: history.entries.map {
                [String($0.number), Timestamp.local($0.at), $0.id, $0.event, $0.author, $0.why ?? ""]
                    .map(TextTable.cell)
            })
        return table.lines(within: width).flatMap(\.self).map { TerminalText($0) }
            + (history.isWhole
                ? ["\(style.green("nothing is missing")): each entry names the bytes of the one before"]
                : history.faults.map { "\(style.red("broken:")) \($0)" })
    }
}
