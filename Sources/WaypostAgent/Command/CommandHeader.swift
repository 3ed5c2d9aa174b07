import Waypost
import WaypostMessages

/// What is needed of a command before its turn comes: all but what it asks for.
struct CommandHeader: Sendable {
    var id: String
    var lane = Command.defaultLane
    /// When the command must have been started, in milliseconds since 1970.
    var expires: Int64
    /// Rises per sender; nil when the sender does not count.
    var sequence: Int64?
    /// What is allowed in it and was hardly meant; for people.
    var warnings: [String] = []

    init(id: String, expires: Int64) { (self.id, self.expires) = (id, expires) }

    init(_ command: Command) {
        id = command.id
        lane = command.lane
        expires = command.expires
        sequence = command.sequence
        warnings = command.warnings
    }
}

extension Command.Operation {
    /// Whether it waits for its turn; what asks about other commands and the agent itself does not.
    var runsInLane: Bool {
        switch self {
        case .open, .call, .navigate: true
        case .cancel, .failures, .inspect, .log, .replay, .ping: false
        }
    }
}
