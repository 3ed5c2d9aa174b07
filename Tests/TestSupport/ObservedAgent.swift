import Foundation

/// A `waypost agent` as an operator would run it, wherever it runs.
public protocol ObservedAgent: Sendable {
    /// What runs it.
    associatedtype Command: ObservedCommand

    /// The agent's name.
    var name: String { get }
    /// Its state directory; give it to the next agent to go on where this one ended.
    var directory: String { get }
    /// The command that it is.
    var command: Command { get }
}

extension ObservedAgent {
    /// Waits for the line that says that the agent is online; with `times`, for that many connections.
    public func online(times: Int = 1) async throws {
        try await command.printedError("online at", times: times)
    }

    /// The lines that the demo's LedgerService has written: one for each time that it ran.
    public var ledger: [String] {
        let text = (try? String(contentsOfFile: directory + "/ledger.txt", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    /// Waits for a line with `needle` in it.
    @discardableResult
    public func printed(_ needle: String) async throws -> String { try await command.printedError(needle) }

    /// The lines on standard error so far.
    public var lines: [String] { command.errorLines }

    /// SIGTERM, and the exit status.
    public func terminate() async throws -> Int32 {
        command.send(signal: SIGTERM)
        return try await command.status()
    }

    /// SIGTERM, without waiting for what comes of it.
    public func signalTermination() { command.send(signal: SIGTERM) }

    /// Waits until it has ended by itself: the exit status, or the signal that killed it, negative.
    public func ended() async throws -> Int32 { try await command.status() }
}

/// What starts an agent.
public enum AgentWords {
    /// A state directory of its own.
    public static func newDirectory() -> String {
        NSTemporaryDirectory() + "waypost-agent-\(UUID().uuidString)"
    }

    /// The command line of an agent.
    public static func line(_ name: String, _ broker: String, _ directory: String, _ more: [String])
        -> [String]
    {
        ["agent", "--broker", broker, "--agent", name, "--state", directory] + more
    }
}
