import Waypost
import WaypostBackend
import WaypostMessages

/// Maps for people: layers, documents of the past, and what a document would change.
struct MapText {
    /// The most lines of one list.
    private static let maximumLines = 20

    let style: Style

    // MARK: In force

    /// The layers of an agent, the one that acts first on top.
    ///
    /// Those entries are marked that act on the URL that was asked about.
    func lines(_ maps: AgentMaps) -> [TerminalText] {
        let counts = maps.counts
        var lines: [TerminalText] = [
            "\(style.bold("\(maps.agent)")): \(MapSummary.counted(active: counts.active, inactive: counts.inactive)), as of \(Timestamp.local(maps.asOf))"
        ]
        let acting = Set(maps.acting)
        for layer in maps.layers.reversed() { lines += self.lines(layer, acting) }
        if maps.layers.isEmpty { lines.append("  no map is in force") }
        return lines
    }

    private func lines(_ layer: AgentMaps.Layer, _ acting: Set<AgentMaps.Entry>) -> [TerminalText] {
        var facts = [layer.revision.map { "rev \($0)" }, layer.author.map { "by \($0)" }].compactMap(\.self)
        if let since = layer.since { facts.append("since \(Timestamp.local(since))") }
        if let expires = layer.expires { facts.append("until \(Timestamp.local(expires))") }
        if layer.since == nil, layer.state == .active { facts.append("set by the program") }
        let title = ([layer.name] + facts).joined(separator: "  ")
        var lines: [TerminalText] = [style.bold("\(title)")]
        if layer.state != .active {
            lines.append("  \(state(layer.state)): \(layer.reason ?? "no reason given")")
        }
        let entries = layer.entries
        let width = entries.last.map { "\($0.number)".count } ?? 1
        for entry in entries {
            let number =
                String(repeating: " ", count: max(0, width - "\(entry.number)".count)) + "\(entry.number)"
            let text = entry.entry?.text ?? entry.json.text
            let why = entry.reason.map { ": \($0)" } ?? ""
            let mark: TerminalText = acting.contains(entry) ? style.green("→") : " "
            lines.append("\(mark) \(number)  \(padded(entry.state))  \(text)\(why)")
        }
        if entries.isEmpty, layer.state == .active { lines.append("  no entries") }
        if let refused = layer.refused {
            let rev = refused.revision.map { "rev \($0)" } ?? "a document"
            lines.append(
                "  \(style.red("refused")): \(rev) at \(Timestamp.local(refused.at)): \(refused.reason.code): \(refused.reason.detail)"
            )
        }
        return lines
    }

    private func state(_ state: AgentMaps.State) -> TerminalText {
        state == .active ? style.green("active") : style.yellow("\(state.rawValue)")
    }

    private func padded(_ state: AgentMaps.State) -> TerminalText {
        self.state(state) + TerminalText(String(repeating: " ", count: max(0, 8 - state.rawValue.count)))
    }

    // MARK: The past

    /// The documents of one agent.
    func lines(_ agent: String, _ history: [MapVersion]) -> [TerminalText] {
        let title: TerminalText = style.bold("\(agent)")
        guard !history.isEmpty else { return ["\(title): no map was ever in force"] }
        let rows = history.map { version -> [String] in
            let until = version.until.map { Timestamp.local($0) } ?? "in force"
            let digest = String(version.digest.dropFirst(7).prefix(12))
            return [
                version.layer, version.revision.map { "\($0)" } ?? "–", Timestamp.local(version.from),
                until,
                version.changes.map(Self.changes) ?? "?", version.bytes.map { "\($0)" } ?? "?", digest,
                version.author ?? "?",
            ]
        }
        let head = ["LAYER", "REV", "FROM", "UNTIL", "CHANGED", "BYTES", "DIGEST", "BY"]
        return [title] + Self.table([head] + rows)
    }

    private static func table(_ rows: [[String]]) -> [TerminalText] {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row -> TerminalText in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return "  \(line)"
        }
    }

    private static func changes(_ changes: MapVersion.Changes) -> String {
        self.changes(added: changes.added, removed: changes.removed, changed: changes.changed)
    }

    private static func changes(added: Int, removed: Int, changed: Int) -> String {
        let parts = [(added, "+"), (removed, "-"), (changed, "~")]
        let text = parts.compactMap { $0 > 0 ? "\($1)\($0)" : nil }.joined(separator: " ")
        return text.isEmpty ? "nothing" : text
    }

    // MARK: What agents say

    /// What an agent says of the document, for people.
    func lines(_ answer: RelocationAnswer) -> [TerminalText] {
        if let refused = answer.refusal {
            return [
                "\(style.red("refused")): \(refused.code) by \(answer.agent): \(refused.detail); the map in force stays"
            ]
        }
        let counts = MapSummary.counted(
            active: max(0, answer.applied.entries - answer.applied.inactive.count),
            inactive: answer.applied.inactive.count)
        let layers = answer.applied.layers.map { layer in
            let name = layer.name == "agent" ? "map" : layer.name
            return layer.revision.map { "\(name) rev \($0)" } ?? name
        }
        let from = layers.isEmpty ? "" : " (\(layers.joined(separator: ", ")))"
        let applied: TerminalText = "\(style.green("applied")): \(counts) on \(answer.agent)\(from)"
        return [applied]
            + answer.inactive.map {
                "  \(style.yellow("inactive")): entry \($0.number) of \($0.layer): \($0.reason)"
            }
            + answer.conditional.map { "  if: entry \($0.number) of \($0.layer): \($0.reason)" }
            + (answer.omitted > 0
                ? [
                    "  \(answer.omitted) more are not listed: the broker does not accept messages of that size"
                ]
                : [])
    }

    // MARK: Before it is sent

    /// What a document would change.
    func lines(_ plan: MapPlan) -> [TerminalText] {
        var lines = plan.diffs.flatMap { self.lines($0) }
        if !plan.seesMembers {
            lines.append("what would change is not known: the broker does not list its agents")
        }
        return lines + plan.unknowns.map { "\($0.agents.named): \(style.yellow("not known")): \($0.reason)" }
    }

    /// What speaks against a map, with the option that allows it; what is asked about is shown with the entries.
    func lines(_ objections: [MapObjection]) -> [TerminalText] {
        objections.compactMap { objection in
            guard objection.kind != .loss else { return nil }
            let mark = objection.kind == .unchecked ? style.yellow("unknown:") : style.red("problem:")
            return "\(mark) \(objection.text); \(objection.kind.option) goes on all the same"
        }
    }

    private func lines(_ diff: MapDiff) -> [TerminalText] {
        let names = diff.agents.named
        if let refusal = diff.refusal {
            let texts: [TerminalText] = [
                "\(style.bold("\(names)")): \(style.red("would refuse it")): \(refusal.code): \(refusal.detail)"
            ]
            return texts + list(diff.changes.list, change)
        }
        let counts = Self.changes(
            added: diff.changes.added, removed: diff.changes.removed, changed: diff.changes.changed)
        var lines: [TerminalText] = [
            "\(style.bold("\(names)")): \(diff.changes.list.isEmpty ? "no entry changes" : "entries \(counts)")"
        ]
        lines += list(diff.changes.list, change)
        if diff.emptiedPatches > 0 {
            lines.append(
                "  \(style.red("-")) \(diff.emptiedPatches.counted("entry", "entries")) of patches: a new map empties them"
            )
        }
        guard let destinations = diff.destinations, let inactive = diff.inactive else {
            lines.append("  where URLs would lead is not known: the broker keeps no contract of \(names)")
            return lines
        }
        lines += list(destinations) { "  \($0.subject): \($0.before) → \($0.after)" }
        lines += list(inactive) {
            "  \(style.yellow("inactive")): entry \($0.number), \($0.entry.subjectPath): \($0.reason)"
        }
        return lines
    }

    private func change(_ change: RelocationChanges.Change) -> TerminalText {
        switch (change.before, change.after) {
        case (nil, let after?): "  \(style.green("+")) \(after.text)"
        case (let before?, nil): "  \(style.red("-")) \(before.text)"
        case (let before?, let after?): "  \(style.yellow("~")) \(before.text)  ⇒  \(after.text)"
        case (nil, nil): ""
        }
    }

    private func list<Item>(_ items: [Item], _ line: (Item) -> TerminalText) -> [TerminalText] {
        let lines = items.prefix(Self.maximumLines).map(line)
        return items.count > lines.count ? lines + ["  … and \(items.count - lines.count) more"] : lines
    }
}
