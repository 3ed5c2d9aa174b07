import Foundation
import TestSupport

/// A broker and an agent with the demo's features, and an operator's shell in front of them.
final class Site: Sendable {
    let broker: TestBroker
    let agent: AgentProcess

    private init(_ broker: TestBroker, _ agent: AgentProcess) {
        self.broker = broker
        self.agent = agent
    }

    deinit { broker.end() }

    static func open(_ arguments: [String] = ["--demo"]) async throws -> Site {
        let broker = try await TestBroker.start()
        let agent = try AgentProcess("k1", broker: broker.url, arguments: arguments)
        try await agent.online()
        return Site(broker, agent)
    }

    /// Has an agent come and go, so that the broker knows it.
    func retire(_ name: String) async throws {
        let retired = try AgentProcess(name, broker: broker.url)
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

/// A file for one test.
struct ScratchFile: ~Copyable {
    let path: String

    init(_ text: String, name: String = "file", mode: Int = 0o600) throws {
        try self.init(bytes: Array(text.utf8), name: name, mode: mode)
    }

    init(bytes: [UInt8], name: String = "file", mode: Int = 0o600) throws {
        path = NSTemporaryDirectory() + "waypost-\(UUID().uuidString)-\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    deinit { unlink(path) }
}
