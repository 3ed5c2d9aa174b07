import Waypost
import WaypostMessages

/// What became of a command at its agent, and when, in milliseconds since 1970.
///
/// Times are by the agent's clock, and by this machine's where that of the agent is known to be wrong, see
/// ``CommandReply/clockAhead``.
public struct CommandTimeline: Sendable, Hashable {
    /// Where a command is.
    public enum State: String, Sendable, Hashable {
        /// It waits for the time at which it may begin.
        case scheduled
        /// It waits for its turn.
        case waiting
        /// It waits until an interceptor lets it go on.
        case held
        /// It runs.
        case running
        /// It has ended.
        case ended
        /// The disk damaged what was known of it, or the agent is of a newer version.
        case unknown
    }

    /// The command's id.
    public let id: String
    /// To whom it was sent: the agent's name, or `@` and that of a group.
    public let receiver: String
    /// Where it is.
    public let state: State
    /// When the agent received it.
    public let received: Int64?
    /// When it begins, where it waits for its time.
    public let due: Int64?
    /// Since when it runs.
    public let running: Int64?
    /// When it must have been started.
    public let expires: Int64?
    /// When it ended.
    public let ended: Int64?
    /// When the broker had the reply.
    public let acknowledged: Int64?
    /// How often it was started.
    public let attempt: Int
    /// How it ended, and the reason when it did not end well.
    public let code: Int?
    /// The reason, for people.
    public let detail: String?
    /// The name of ``code``.
    private let name: String?
    /// What it does now, with what the agent says of it: `running since 4 s, attempt 2`.
    package let situation: String

    /// Where it is, for a sentence: `waiting for its turn`.
    public var text: String {
        switch state {
        case .scheduled: "waiting for its time" + (due.map { ": it begins at \(Timestamp.local($0))" } ?? "")
        case .waiting: "waiting for its turn"
        case .held: "waiting at a gate"
        case .running: "running"
        case .ended: "done"
        case .unknown: "not known"
        }
    }

    /// How it ended: `404 NO_ROUTE: no route matches …`.
    package var outcome: String? {
        guard let code, let name else { return nil }
        return "\(code) \(name)" + (detail.map { ": \($0)" } ?? "")
    }

    /// Those that a reply to `inspect` lists.
    ///
    /// - Parameter id: That of all of them; nil where each has its own, without which it is none.
    package static func all(in answer: CommandReply, of id: String? = nil) -> [CommandTimeline] {
        (answer.result["commands"]?.arrayValue ?? []).compactMap { json in
            (id ?? json["id"]?.stringValue).map { CommandTimeline($0, json, in: answer) }
        }
    }

    private init(_ id: String, _ json: JSONValue, in answer: CommandReply) {
        let clockError = answer.clockAhead.milliseconds
        func time(_ name: String) -> Int64? { json[name]?.time.map { $0.subtracting(clamping: clockError) } }
        self.id = id
        receiver = json["to"]?.stringValue ?? "?"
        running = time("running") ?? time("started")
        state =
            switch json["state"]?.stringValue {
            case "scheduled"?: .scheduled
            case "received"?: running == nil ? .waiting : .running
            case "held"?: .held
            case "resumed"?, "started"?: .running
            case "finished"?, "acknowledged"?: .ended
            default: .unknown
            }
        received = time("received")
        due = time("due")
        expires = time("expires")
        ended = time("ended")
        acknowledged = time("acknowledged")
        attempt = Int(clamping: json["attempt"]?.boundedInt ?? 0)
        code = json["code"]?.boundedInt.map { Int(clamping: $0) }
        detail = json["detail"]?.stringValue
        name = json["name"]?.stringValue
        situation =
            Self.situation(json, at: answer.reply.at, due: due) + (attempt > 1 ? ", attempt \(attempt)" : "")
    }

    /// - Parameter now: The agent's clock when it answered.
    private static func situation(_ json: JSONValue, at now: Int64, due: Int64?) -> String {
        func span(_ since: Int64) -> String { TimeText.span(max(0, now.subtracting(clamping: since))) }
        if let held = json["held"]?.boundedInt { return "waiting at a gate since \(span(held))" }
        if let began = json["running"]?.boundedInt { return "running since \(span(began))" }
        if let ahead = json["ahead"]?.boundedInt {
            return "waiting for its turn behind \(Int(clamping: ahead).counted("command")) of its lane"
        }
        return switch json["state"]?.stringValue ?? "" {
        case "scheduled":
            "waiting for its time" + (due.map { ": it begins at \(Timestamp.local($0))" } ?? "")
        case "received": "waiting for its turn"
        case "held": "waiting at a gate"
        case "resumed", "started": "running"
        case "finished": "done; the broker does not have the reply yet"
        case "acknowledged": "done"
        case "damaged": "lost: its stored data is damaged"
        case let word: word
        }
    }
}
