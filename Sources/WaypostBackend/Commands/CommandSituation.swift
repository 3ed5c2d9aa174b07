import Waypost
package import WaypostMessages

/// What an agent says of a command, from its reply to `inspect`: one for each receiver that it was sent to.
package struct CommandSituation {
    private let json: JSONValue
    /// The agent's clock when it answered, in milliseconds since 1970.
    private let now: Int64
    /// How far that clock is ahead, in milliseconds, where it is known to be wrong; else 0.
    private let clockError: Int64

    /// The situations that a reply to `inspect` lists, at most a hundred.
    ///
    /// - Parameter clockError: how far the agent's clock is ahead, in milliseconds; its times are corrected by it.
    package static func all(in reply: Reply, clockError: Int64 = 0) -> [CommandSituation] {
        (reply.result["commands"]?.arrayValue ?? []).prefix(100).map {
            CommandSituation(json: $0, now: reply.at, clockError: clockError)
        }
    }

    /// The receiver: the agent, or a group.
    package var receiver: String { json["to"]?.stringValue ?? "?" }
    /// Which start this is, from 1; 0 before the first.
    package var attempt: Int64 { json["attempt"]?.boundedInt ?? 0 }
    /// How many starts before this one had no result, because the agent ended.
    package var interrupted: Int64 { max(0, attempt - 1) }
    // The times are those of a correct clock.
    package var received: Int64? { time("received") }
    package var started: Int64? { time("running") ?? time("started") }
    package var ended: Int64? { time("ended") }
    package var acknowledged: Int64? { time("acknowledged") }
    package var expires: Int64? { time("expires") }
    /// When it begins, where it waits for its time.
    package var due: Int64? { time("due") }

    /// How it ended: `404 NO_ROUTE: no route matches …`.
    package var outcome: String? {
        guard let number = json["code"]?.boundedInt, let name = json["name"]?.stringValue else { return nil }
        return "\(number) \(name)" + (json["detail"]?.stringValue.map { ": \($0)" } ?? "")
    }

    /// What it does now, for a sentence: `running since 4 s, attempt 2`.
    package var text: String {
        let again = attempt > 1 ? ", attempt \(attempt)" : ""
        if let held = json["held"]?.boundedInt { return "waiting at a gate since \(span(held))\(again)" }
        if let began = json["running"]?.boundedInt { return "running since \(span(began))\(again)" }
        if let ahead = json["ahead"]?.boundedInt {
            return
                "waiting for its turn behind \(Int(clamping: ahead).counted("command")) of its lane\(again)"
        }
        switch json["state"]?.stringValue ?? "" {
        case "scheduled":
            return "waiting for its time" + (due.map { ": it begins at \(Timestamp.local($0))" } ?? "")
        case "received": return "waiting for its turn\(again)"
        case "held": return "waiting at a gate\(again)"
        case "resumed", "started": return "running\(again)"
        case "finished": return "done; the broker does not have the reply yet\(again)"
        case "acknowledged": return "done\(again)"
        case "damaged": return "lost: its stored data is damaged"
        case let word: return word
        }
    }

    /// Whether it has ended.
    package var isOver: Bool { ended != nil }

    private func time(_ name: String) -> Int64? {
        json[name]?.time.map { $0.subtracting(clamping: clockError) }
    }

    private func span(_ since: Int64) -> String {
        TimeText.span(max(0, now.subtracting(clamping: since)))
    }
}
