public import Waypost
public import WaypostFleet
import WaypostMessages
import WaypostTools

/// What an agent is asked to do.
///
///     let command = AgentCommand.call("DoorService", "open", [5])
public struct AgentCommand: Sendable, Hashable {
    let operation: Command.Operation

    init(_ operation: Command.Operation) { self.operation = operation }

    /// Opens a URL through the agent's router.
    public static func open(_ url: String, parameters: [String: JSONValue] = [:]) -> AgentCommand {
        AgentCommand(.open(url: url, parameters: parameters))
    }

    /// Calls a method of an exposed service, the arguments by position.
    public static func call(
        _ service: String, _ method: String, _ arguments: [JSONValue] = []
    ) -> AgentCommand {
        AgentCommand(.call(service: service, method: method, arguments: .positional(arguments)))
    }

    /// Calls a method of an exposed service, the arguments by label.
    public static func call(
        _ service: String, _ method: String, labeled arguments: [String: JSONValue]
    ) -> AgentCommand {
        AgentCommand(.call(service: service, method: method, arguments: .labeled(arguments)))
    }

    /// Changes what is shown, and opens nothing.
    public static func navigate(_ move: NavigationMove) -> AgentCommand { AgentCommand(.navigate(move)) }

    /// Cancels a command of the same sender that waits or runs.
    public static func cancel(_ id: String) -> AgentCommand { AgentCommand(.cancel(target: id)) }

    /// Changes which events the agent publishes; it goes back by itself.
    ///
    /// - Parameters:
    ///   - level: The lowest that is published.
    ///   - tag: Only for events with this tag; nil for all.
    ///   - duration: How long; a longer one than an hour is an hour.
    public static func log(
        _ level: AgentEvent.Level, tag: String? = nil, for duration: Duration = .seconds(600)
    ) -> AgentCommand {
        AgentCommand(
            .log(
                level: LogLevel(level), tag: tag,
                milliseconds: min(max(1, duration.milliseconds), Command.maximumLogDuration)))
    }

    /// Asks for the health.
    public static let ping = AgentCommand(.ping())
}

extension AgentContract {
    /// Checks a command against it; nil when nothing speaks against it.
    ///
    /// What can't be known, such as where redirects lead, is passed over.
    public func check(_ command: AgentCommand) -> BackendError? {
        guard let fault = report(command.operation).fault else { return nil }
        var error = BackendError(.notSent, "\(fault.code): \(fault.detail)")
        (error.code, error.nearest) = (fault.code, fault.nearest)
        return error
    }
}

/// How a command is sent, and how long its reply is waited for.
public struct SendOptions: Sendable, Hashable {
    /// The command's id, 1 to 64 characters of A-Z a-z 0-9 _ -; a new one unless given.
    ///
    /// A command with the same id and content does not run twice.
    public var id: String?
    /// How long the reply is waited for; nil for 10 s, and shorter for an agent that is known to be offline.
    public var deadline: Duration?
    /// How long the command may wait before it starts, 1 s to 30 days: from now, or from ``after``.
    ///
    /// An agent keeps none longer than its `command-life`, a day unless set.
    public var lifetime: Duration
    /// Commands of one lane run one after another; different lanes run in parallel.
    public var lane: String
    /// The W3C `traceparent` of what asks for it: the replies, log lines and failures that it causes have it.
    public var trace: String?
    /// An open, a call or a navigate begins no earlier, in milliseconds since 1970; at once unless given.
    public var after: Int64?
    /// It begins only at these days and times of the agent's zone, or of UTC: `mon-fri 22:00-04:00`, `02:00-04:00 utc`; at
    /// any unless given.
    ///
    /// The ``lifetime`` must reach into one.
    public var window: String?

    /// For an open, a call or a navigate to a group: which clients it is for, as in the `when` of maps, of `build`, `locale`,
    /// `labels` and `share`: `["labels": ["region": "eu"]]`; all unless given.
    ///
    /// Others reply 412 ``Code/notMeant``.
    public var when: JSONValue?

    /// A minute to start, in the lane `main`, unless given.
    public init(
        id: String? = nil, deadline: Duration? = nil, lifetime: Duration = .seconds(60),
        lane: String = "main",
        trace: String? = nil, after: Int64? = nil, window: String? = nil, when: JSONValue? = nil
    ) {
        (self.id, self.deadline, self.lifetime, self.lane) = (id, deadline, lifetime, lane)
        (self.trace, self.after, self.window, self.when) = (trace, after, window, when)
    }
}
