public import Foundation
import Synchronization

/// The built agent as a process of its own, as an operator would run it.
public final class AgentProcess: Sendable {
    /// The agent's name.
    public let name: String
    /// Its state directory; give it to the next process to go on where this one ended.
    public let directory: String
    private let process = Process()
    private let output = EventLog<String>()

    /// Starts `waypost agent` and returns at once; ``online()`` waits until it is there.
    public init(
        _ name: String, broker: String, directory: String? = nil, arguments: [String] = ["--demo"],
        environment: [String: String] = [:]
    ) throws {
        self.name = name
        self.directory = directory ?? NSTemporaryDirectory() + "waypost-agent-\(UUID().uuidString)"
        process.executableURL = Self.executable
        process.arguments =
            ["agent", "--broker", broker, "--agent", name, "--state", self.directory] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        let lines = Mutex(Data())
        pipe.fileHandleForReading.readabilityHandler = { [output] handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
                output.append(Self.endMark)
            }
            for line in lines.withLock({ $0.takeLines(adding: data) }) { output.append(line) }
        }
        try process.run()
    }

    deinit { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }

    /// The binary that was built beside this test bundle.
    public static var executable: URL {
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        while folder.path != "/" {
            let candidate = folder.appendingPathComponent("waypost")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        return URL(fileURLWithPath: ".build/debug/waypost")
    }

    /// Waits for the line that says that the agent is online.
    public func online() async throws { try await printed("online") }

    /// Waits for a line with `needle` in it.
    public func printed(_ needle: String) async throws {
        try await output.wait(for: "a line with \"\(needle)\"") { lines in
            lines.contains { $0.contains(needle) } || lines.last == Self.endMark
        }
        guard lines.contains(where: { $0.contains(needle) }) else {
            throw Failure(description: "the agent ended without printing \(needle); it said: \(lines)")
        }
    }

    /// What it has written to its standard error so far.
    public var lines: [String] { output.events.filter { $0 != Self.endMark } }

    /// kill -9: no code of the agent runs any more.
    public func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// SIGTERM, and the exit status.
    public func terminate() -> Int32 {
        process.terminate()
        return ended()
    }

    /// Waits until it has ended, and its exit status; a signal's number is negative.
    public func ended() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal
            ? -process.terminationStatus : process.terminationStatus
    }

    /// Whether it still runs.
    public var isRunning: Bool { process.isRunning }

    /// Its process id.
    public var processID: Int32 { process.processIdentifier }

    /// The agent did not do what a test waits for.
    public struct Failure: Error, CustomStringConvertible {
        /// What was waited for.
        public let description: String
    }

    private static let endMark = "\u{4}"
}

extension Data {
    /// Adds bytes and takes out the whole lines; at the end of input also the rest.
    fileprivate mutating func takeLines(adding data: Data) -> [String] {
        append(data)
        var lines: [String] = []
        while let end = firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: self[startIndex..<end], as: UTF8.self))
            self = Data(self[index(after: end)...])
        }
        if data.isEmpty, !isEmpty {
            lines.append(String(decoding: self, as: UTF8.self))
            self = Data()
        }
        return lines
    }
}
