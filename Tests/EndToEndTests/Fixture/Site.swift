import CommandSupport
import Foundation
import TestSupport

/// A broker and an agent with the demo's features, and an operator's shell in front of them.
final class Site<Agent: ObservedAgent>: Sendable {
    let broker: TestBroker
    let agent: Agent

    private init(_ broker: TestBroker, _ agent: Agent) {
        self.broker = broker
        self.agent = agent
    }

    deinit { broker.end() }

    private static func begin(_ start: (TestBroker) throws -> Agent) async throws -> Site {
        let broker = try await TestBroker.start()
        let agent = try start(broker)
        try await agent.online()
        return Site(broker, agent)
    }

    /// Has an agent come and go, so that the broker knows it.
    func retire(_ name: String) async throws {
        let retired = try RunningAgent(name, broker: broker.url)
        try await retired.online()
        _ = try await retired.terminate()
    }

    /// Runs a command against the site's broker.
    func run(_ arguments: String..., input: String? = nil) async throws -> RunningCommand.Ending {
        try await RunningCommand.run(arguments, environment: ["WAYPOST_BROKER": broker.url], input: input)
    }

    /// Starts a command against the site's broker.
    func start(_ arguments: String...) throws -> RunningCommand {
        try RunningCommand(arguments, environment: ["WAYPOST_BROKER": broker.url])
    }
}

extension Site where Agent == RunningAgent {
    /// With an agent in the test's process.
    static func open(_ arguments: [String] = ["--demo"]) async throws -> Site {
        try await begin { try RunningAgent("k1", broker: $0.url, arguments: arguments) }
    }
}

extension Site where Agent == AgentProcess {
    /// With an agent that can be killed and stopped.
    static func openProcess(_ arguments: [String] = ["--demo"]) async throws -> Site {
        try await begin { try AgentProcess("k1", broker: $0.url, arguments: arguments) }
    }
}
