import Foundation

/// The built agent as a process of its own, as an operator would run it.
public final class AgentProcess: Sendable {
    /// The agent's name.
    public let name: String
    /// Its state directory; give it to the next process to go on where this one ended.
    public let directory: String
    private let command: RunningCommand

    /// Starts `waypost agent` and returns at once; ``online()`` waits until it is there.
    public init(
        _ name: String, broker: String, directory: String? = nil, arguments: [String] = ["--demo"],
        environment: [String: String] = [:]
    ) throws {
        self.name = name
        self.directory = directory ?? NSTemporaryDirectory() + "waypost-agent-\(UUID().uuidString)"
        command = try RunningCommand(
            ["agent", "--broker", broker, "--agent", name, "--state", self.directory] + arguments,
            environment: environment)
    }

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

    /// kill -9: no code of the agent runs any more.
    public func kill() async throws {
        command.send(signal: SIGKILL)
        _ = try await command.status()
    }

    /// SIGTERM, and the exit status.
    public func terminate() async throws -> Int32 {
        command.send(signal: SIGTERM)
        return try await command.status()
    }

    /// SIGTERM, without waiting for what comes of it.
    public func signalTermination() { command.send(signal: SIGTERM) }

    /// Waits until it has ended by itself: the exit status, or the signal that killed it, negative.
    public func ended() async throws -> Int32 { try await command.status() }

    /// Its process id.
    public var processID: Int32 { command.processID }

    /// The most memory that it has had so far, in KiB; nil when it has ended.
    public var peakMemory: Int? {
        let status = (try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }
    }
}
