import Waypost
import WaypostMessages

/// What is needed of a command before its turn comes: all but what it asks for.
struct CommandHeader: Sendable {
    var id: String
    /// Nil when that could not be read.
    var kind: Command.Operation.Kind?
    var lane = Command.defaultLane
    /// When the command must have been started, in milliseconds since 1970.
    var expires: Int64
    /// Rises per sender; nil when the sender does not count.
    var sequence: Int64?
    /// Probable mistakes in an accepted command; for people.
    var warnings: [String] = []

    init(id: String, expires: Int64) { (self.id, self.expires) = (id, expires) }

    init(_ command: Command) {
        id = command.id
        kind = command.operation.kind
        lane = command.lane
        expires = command.expires
        sequence = command.sequence
        warnings = command.warnings
    }
}

extension Command.Operation {
    /// An operation without what it needs.
    enum Kind: Sendable {
        case open, call, navigate, cancel, failures, inspect, log, replay, ping
    }

    var kind: Kind {
        switch self {
        case .open: .open
        case .call: .call
        case .navigate: .navigate
        case .cancel: .cancel
        case .failures: .failures
        case .inspect: .inspect
        case .log: .log
        case .replay: .replay
        case .ping: .ping
        }
    }

    /// Whether it waits for its turn; what asks about other commands and the agent itself does not.
    var runsInLane: Bool {
        switch kind {
        case .open, .call, .navigate: true
        case .cancel, .failures, .inspect, .log, .replay, .ping: false
        }
    }
}
