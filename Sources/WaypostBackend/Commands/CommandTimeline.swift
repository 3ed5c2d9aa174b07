import Waypost
import WaypostMessages

/// What became of a command at its agent, and when; times are by the agent's clock, in milliseconds since 1970.
public struct CommandTimeline: Sendable, Hashable {
    /// Where a command is.
    public enum State: String, Sendable, Hashable {
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
    /// Where it is.
    public let state: State
    /// When the agent received it.
    public let received: Int64?
    /// Since when it runs.
    public let running: Int64?
    /// When it ended.
    public let ended: Int64?
    /// How often it was started.
    public let attempt: Int
    /// How it ended, and the reason when it did not end well.
    public let code: Int?
    /// The reason, for people.
    public let detail: String?

    init(_ id: String, _ json: JSONValue) {
        self.id = id
        running = json["running"]?.time ?? json["started"]?.time
        state =
            switch json["state"]?.stringValue {
            case "received"?: running == nil ? .waiting : .running
            case "held"?: .held
            case "resumed"?, "started"?: .running
            case "finished"?, "acknowledged"?: .ended
            default: .unknown
            }
        received = json["received"]?.time
        ended = json["ended"]?.time
        attempt = Int(clamping: json["attempt"]?.boundedInt ?? 0)
        code = json["code"]?.boundedInt.map { Int(clamping: $0) }
        detail = json["detail"]?.stringValue
    }
}
