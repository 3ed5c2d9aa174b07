import Waypost
import WaypostMessages

/// What became of a command at its agent, and when; times are by the agent's clock, in milliseconds since 1970.
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
    /// How often it was started.
    public let attempt: Int
    /// How it ended, and the reason when it did not end well.
    public let code: Int?
    /// The reason, for people.
    public let detail: String?

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

    init(_ id: String, _ json: JSONValue) {
        self.id = id
        receiver = json["to"]?.stringValue ?? "?"
        running = json["running"]?.time ?? json["started"]?.time
        state =
            switch json["state"]?.stringValue {
            case "scheduled"?: .scheduled
            case "received"?: running == nil ? .waiting : .running
            case "held"?: .held
            case "resumed"?, "started"?: .running
            case "finished"?, "acknowledged"?: .ended
            default: .unknown
            }
        received = json["received"]?.time
        due = json["due"]?.time
        expires = json["expires"]?.time
        ended = json["ended"]?.time
        attempt = Int(clamping: json["attempt"]?.boundedInt ?? 0)
        code = json["code"]?.boundedInt.map { Int(clamping: $0) }
        detail = json["detail"]?.stringValue
    }
}
