public import Waypost
package import WaypostMessages

/// What an agent is asked to do.
///
///     let command = AgentCommand.call("DoorService", "open", [5])
public struct AgentCommand: Sendable, Hashable {
    package let operation: Command.Operation

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

    /// Asks for the health.
    public static let ping = AgentCommand(.ping())
}

/// How a command is sent, and how long its reply is waited for.
public struct SendOptions: Sendable, Hashable {
    /// The command's id, 1 to 64 characters of A-Z a-z 0-9 _ -; a new one unless given.
    ///
    /// A command with the same id and content does not run twice.
    public var id: String?
    /// How long the reply is waited for; nil for 10 s, and shorter for an agent that is known to be offline.
    public var deadline: Duration?
    /// How long the command may wait before it starts, 1 s to a day.
    public var lifetime: Duration
    /// Commands of one lane run one after another; different lanes run in parallel.
    public var lane: String

    /// A minute to start, in the lane `main`, unless given.
    public init(
        id: String? = nil, deadline: Duration? = nil, lifetime: Duration = .seconds(60), lane: String = "main"
    ) {
        (self.id, self.deadline, self.lifetime, self.lane) = (id, deadline, lifetime, lane)
    }
}
