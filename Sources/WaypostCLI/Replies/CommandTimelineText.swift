import Waypost
import WaypostMessages

/// How a command went at an agent, from the reply to `inspect`.
struct CommandTimelineText {
    let id: String
    let sender: String
    let style: Style

    func lines(_ result: JSONValue) -> [TerminalText] {
        (result["commands"]?.arrayValue ?? []).prefix(100).flatMap(timeline)
    }

    private func timeline(_ json: JSONValue) -> [TerminalText] {
        let to = json["to"]?.stringValue ?? "?"
        let attempt = json["attempt"]?.intValue ?? 0
        let again = attempt > 1 ? ", attempt \(attempt)" : ""
        var lines: [TerminalText] = [
            "\(style.bold("\(id) of \(sender) to \(to)"))  \(state(json["state"]?.stringValue ?? ""))\(again)"
        ]
        var before: Int64?
        for (step, note) in [
            ("received", nil), ("started", nil), ("ended", outcome(json)),
            ("acknowledged", "the broker has the reply"),
        ] as [(String, String?)] {
            guard let time = json[step]?.intValue else { continue }
            let difference = before.map {
                " +\(max(0, time.subtractingReportingOverflow($0).partialValue)) ms"
            }
            let more = [difference, note.map { " " + $0 }].compactMap(\.self).joined(separator: " ")
            lines.append("  \(step.padding(to: 13))\(Timestamp.threadTime(time))\(more)")
            before = time
        }
        if json["started"]?.intValue == nil, json["ended"]?.intValue == nil,
            let end = json["expires"]?.intValue
        {
            lines.append("  \("expires".padding(to: 13))\(Timestamp.threadTime(end))")
        }
        return lines
    }

    private func outcome(_ json: JSONValue) -> String? {
        guard let number = json["code"]?.intValue, let name = json["name"]?.stringValue else { return nil }
        return "\(number) \(name)" + (json["detail"]?.stringValue.map { ": \($0)" } ?? "")
    }

    private func state(_ word: String) -> String {
        switch word {
        case "received": "waits for its turn"
        case "held": "waits at a gate"
        case "resumed", "started": "runs"
        case "finished": "has ended; the broker does not have the reply yet"
        case "acknowledged": "has ended"
        case "damaged": "the disk damaged what was known of it"
        default: word
        }
    }
}
