public import TestSupport

/// `waypost agent` in the test's own process, as an operator would run it.
public final class RunningAgent: ObservedAgent {
    /// The agent's name.
    public let name: String
    /// Its state directory; give it to the next agent to go on where this one ended.
    public let directory: String
    /// The command that it is.
    public let command: RunningCommand

    /// Starts the agent and returns at once; ``online()`` waits until it is there.
    public init(
        _ name: String, broker: String, directory: String? = nil, arguments: [String] = ["--demo"],
        environment: [String: String] = [:]
    ) throws {
        self.name = name
        self.directory = directory ?? AgentWords.newDirectory()
        command = try RunningCommand(
            AgentWords.line(name, broker, self.directory, arguments), environment: environment)
    }
}
