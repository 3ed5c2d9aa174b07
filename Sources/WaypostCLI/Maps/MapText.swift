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
    func lines(_ maps: AgentMaps, marked: [String: Set<Int>] = [:]) -> [TerminalText] {
        let counts = maps.counts
        var lines: [TerminalText] = [
            "\(style.bold("\(maps.agent)")): \(MapSummary.counted(active: Int64(counts.active), inactive: Int64(counts.inactive))), as of \(Timestamp.local(maps.asOf))"
        ]
        for layer in maps.layers.reversed() { lines += self.lines(layer, marked[layer.name] ?? []) }
        if maps.layers.isEmpty { lines.append("  no map is in force") }
        return lines
    }

    private func lines(_ layer: MapLayer, _ marked: Set<Int>) -> [TerminalText] {
        var facts = [layer.revision.map { "rev \($0)" }, layer.author.map { "by \($0)" }].compactMap(\.self)
        if let since = layer.since { facts.append("since \(Timestamp.local(since))") }
        if let expires = layer.expires { facts.append("until \(Timestamp.local(expires))") }
        if layer.since == nil, layer.state == .active { facts.append("set by the program") }
        let title = ([layer.name] + facts).joined(separator: "  ")
        var lines: [TerminalText] = [style.bold("\(title)")]
        if layer.state != .active {
            lines.append("  \(state(layer.state)): \(layer.reason ?? "no reason given")")
        }
        let width = layer.entries.last.map { "\($0.number)".count } ?? 1
        for entry in layer.entries {
            let number =
                String(repeating: " ", count: max(0, width - "\(entry.number)".count)) + "\(entry.number)"
            let text = (try? RelocationEntry(entry.json))?.text ?? entry.json.text
            let why = entry.reason.map { ": \($0)" } ?? ""
            let mark: TerminalText = marked.contains(entry.number) ? style.green("→") : " "
            lines.append("\(mark) \(number)  \(padded(entry.state))  \(text)\(why)")
        }
        if layer.entries.isEmpty, layer.state == .active { lines.append("  no entries") }
        if let refused = layer.refused {
            let rev = refused.revision.map { "rev \($0)" } ?? "a document"
            lines.append(
                "  \(style.red("refused")): \(rev) at \(Timestamp.local(refused.at)): \(refused.code): \(refused.detail)"
            )
        }
        return lines
    }

    private func state(_ state: MapLayer.State) -> TerminalText {
        state == .active ? style.green("active") : style.yellow("\(state.rawValue)")
    }

    private func padded(_ state: MapLayer.State) -> TerminalText {
        self.state(state) + TerminalText(String(repeating: " ", count: max(0, 8 - state.rawValue.count)))
    }

    // MARK: The past

    /// The documents of one agent.
    func lines(_ agent: String, _ history: [MapRevision]) -> [TerminalText] {
        let title: TerminalText = style.bold("\(agent)")
        guard !history.isEmpty else { return ["\(title): no map was ever in force"] }
        let rows = history.map { revision -> [String] in
            let until = revision.until.map { Timestamp.local($0) } ?? "in force"
            let digest = String(revision.digest.dropFirst(7).prefix(12))
            return [
                revision.layer, revision.revision.map { "\($0)" } ?? "–", Timestamp.local(revision.from),
                until,
                Self.changes(revision.changes), revision.bytes.map { "\($0)" } ?? "?", digest,
                revision.author ?? "?",
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

    private static func changes(_ changes: MapRevision.Changes?) -> String {
        guard let changes else { return "?" }
        let parts = [(changes.added, "+"), (changes.removed, "-"), (changes.changed, "~")]
        let text = parts.compactMap { $0 > 0 ? "\($1)\($0)" : nil }.joined(separator: " ")
        return text.isEmpty ? "nothing" : text
    }

    // MARK: What agents say

    /// What an agent says of the document, for people.
    func lines(_ result: RelocationResult) -> [TerminalText] {
        if let refused = result.refused {
            return [
                "\(style.red("refused")): \(refused.code) by \(result.agent): \(refused.detail); the map in force stays"
            ]
        }
        let counts = MapSummary.counted(
            active: Int64(max(0, result.applied.entries - result.applied.inactive.count)),
            inactive: Int64(result.applied.inactive.count))
        let layers = result.applied.layers.map { layer in
            let name = layer.name == "agent" ? "map" : layer.name
            return layer.revision.map { "\(name) rev \($0)" } ?? name
        }
        let from = layers.isEmpty ? "" : " (\(layers.joined(separator: ", ")))"
        let applied: TerminalText = "\(style.green("applied")): \(counts) on \(result.agent)\(from)"
        return [applied]
            + result.inactive.map {
                "  \(style.yellow("inactive")): entry \($0.index + 1) of \($0.layer): \($0.reason)"
            }
            + result.applied.conditional.map { "  if: entry \($0.index + 1) of \($0.layer): \($0.reason)" }
            + (result.applied.omitted > 0
                ? [
                    "  \(result.applied.omitted) more are not listed: the broker does not accept messages of that size"
                ]
                : [])
    }

    // MARK: Before it is sent

    /// What a document would change.
    func lines(_ plan: MapPlan) -> [TerminalText] {
        var lines = plan.previews.flatMap { self.lines($0) }
        if !plan.seesMembers {
            lines.append("what would change is not known: the broker does not list its agents")
        }
        if !plan.unknown.isEmpty {
            let names = Self.named(plan.unknown)
            lines.append("\(names): not known, \(plan.unknown.count == 1 ? "it does" : "they do") not answer")
        }
        return lines
    }

    private func lines(_ preview: MapPreview) -> [TerminalText] {
        let names = Self.named(preview.agents)
        if let refusal = preview.refusal {
            let texts: [TerminalText] = [
                "\(style.bold("\(names)")): \(style.red("would refuse it")): \(refusal.code): \(refusal.detail)"
            ]
            return texts + list(preview.changes.list, change)
        }
        let counts = Self.changes(
            MapRevision.Changes(
                added: preview.changes.added, removed: preview.changes.removed,
                changed: preview.changes.changed))
        var lines: [TerminalText] = [
            "\(style.bold("\(names)")): \(preview.changes.list.isEmpty ? "no entry changes" : "entries \(counts)")"
        ]
        lines += list(preview.changes.list, change)
        if preview.emptiedPatches > 0 {
            lines.append(
                "  \(style.red("-")) \(preview.emptiedPatches.counted("entry", "entries")) of patches: a new map empties them"
            )
        }
        guard let destinations = preview.destinations, let inactive = preview.inactive else {
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

    private static func named(_ agents: [String]) -> String {
        let names = agents.prefix(5).joined(separator: ", ")
        return agents.count > 5 ? "\(names) and \(agents.count - 5) more" : names
    }
}

extension MapPlan {
    /// For programs: what is known before the document is sent.
    var json: JSONValue {
        var replaced = JSONValue.null
        if let retained {
            replaced = .object(["rev": JSONValue(retained.revision), "digest": .string(retained.digest)])
        }
        return .object([
            "audience": .string(audience.description), "unknown": .array(unknown.map(JSONValue.string)),
            "replaces": replaced, "agents": .array(previews.map(\.json)),
        ])
    }
}

extension MapPreview {
    fileprivate var json: JSONValue {
        let list = changes.list.map { change -> JSONValue in
            .object(["before": change.before?.json ?? .null, "after": change.after?.json ?? .null])
        }
        let moved = destinations?.map { destination -> JSONValue in
            .object([
                "subject": .string(destination.subject), "before": .string(destination.before),
                "after": .string(destination.after),
            ])
        }
        let idle = inactive?.map { entry -> JSONValue in
            .object([
                "n": .int(Int64(entry.number)), "entry": entry.entry.json, "why": .string(entry.reason),
            ])
        }
        var members: [String: JSONValue] = [
            "agents": .array(agents.map(JSONValue.string)), "changes": .array(list),
            "emptiedPatches": .int(Int64(emptiedPatches)), "refusal": .null,
        ]
        members["destinations"] = moved.map(JSONValue.array) ?? .null
        members["inactive"] = idle.map(JSONValue.array) ?? .null
        if let refusal {
            members["refusal"] = .object([
                "code": .int(Int64(refusal.code.number)), "name": .string(refusal.code.name),
                "detail": .string(refusal.detail),
            ])
        }
        return .object(members)
    }
}
