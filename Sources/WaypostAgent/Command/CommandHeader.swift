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
    /// When it may begin; nil for at once.
    var schedule: CommandSchedule?
    /// When that is next, by the wall clock at its arrival; nil where it was not looked for.
    var opening: Range<Int64>?
    /// Which clients it is for; nil for all.
    var condition: RelocationCondition?
    /// Rises per sender; nil when the sender does not count.
    var sequence: Int64?
    /// Probable mistakes in an accepted command; for people.
    var warnings: [String] = []

    init(id: String, expires: Int64) { (self.id, self.expires) = (id, expires) }

    init(_ command: Command) {
        id = command.id
        kind = command.operation.kind
        // User code may run, which must wait for no other and hold up none: a name that no sender can use.
        lane = command.operation.kind == .resolve ? "/\(command.id)" : command.lane
        expires = command.expires
        schedule = command.schedule
        // It was read before.
        condition = command.when.flatMap { try? RelocationCondition(ofCommand: $0) }
        sequence = command.sequence
        warnings = command.warnings
    }
}

extension Command.Operation {
    /// An operation without what it needs.
    enum Kind: String, Sendable {
        case open, call, navigate, cancel, failures, inspect, log, maps, replay, resolve, ping
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
        case .maps: .maps
        case .replay: .replay
        case .resolve: .resolve
        case .ping: .ping
        }
    }

    /// Whether it gets a task; what asks about other commands and the agent itself does not.
    ///
    /// A `resolve` has a lane of its own.
    var runsInLane: Bool {
        switch kind {
        case .open, .call, .navigate, .resolve: true
        case .cancel, .failures, .inspect, .log, .maps, .replay, .ping: false
        }
    }
}
