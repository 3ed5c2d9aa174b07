import Foundation

/// An agent as a process of its own, for tests that kill it, stop it, or look at what it takes; one that only has to be
/// there is a `RunningAgent`.
public final class AgentProcess: ObservedAgent {
    /// The agent's name.
    public let name: String
    /// Its state directory; give it to the next agent to go on where this one ended.
    public let directory: String
    /// The command that it is.
    public let command: CommandProcess

    /// Starts `waypost agent` and returns at once; ``online()`` waits until it is there.
    public init(
        _ name: String, broker: String, directory: String? = nil, arguments: [String] = ["--demo"],
        environment: [String: String] = [:]
    ) throws {
        self.name = name
        self.directory = directory ?? AgentWords.newDirectory()
        command = try CommandProcess(
            AgentWords.line(name, broker, self.directory, arguments), environment: environment)
    }

    /// kill -9: no code of the agent runs any more.
    public func kill() async throws {
        command.send(signal: SIGKILL)
        _ = try await command.status()
    }

    /// SIGSTOP; returns when none of its threads runs any more, which takes a moment on a busy machine.
    public func freeze() async throws {
        command.send(signal: SIGSTOP)
        let tasks = "/proc/\(processID)/task"
        try await eventually("\(name) to stand still") {
            ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).allSatisfy { task in
                let status = (try? String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)) ?? ""
                // Behind the name, which may hold anything.
                return status.split(separator: ")").last?.hasPrefix(" T") ?? true
            }
        }
    }

    /// SIGCONT.
    public func thaw() { command.send(signal: SIGCONT) }

    /// Its process id.
    public var processID: Int32 { command.processID }

    /// The most memory that it has had so far, in KiB; nil when it has ended.
    public var peakMemory: Int? {
        let status = (try? String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }
    }
}
