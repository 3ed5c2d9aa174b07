import Foundation
import TestSupport

/// A shell at a terminal of its own, made by `script`, with what appears on it.
///
/// Nothing here blocks a thread: the tasks of a test run share a few.
final class TerminalSession: Sendable {
    private enum Event: Sendable {
        case output(Data)
        case outputEnded
        case ended(Int32)
    }

    private let log = EventLog<Event>()
    private let process = Process()
    private let input = Pipe.forOneChild()

    /// Runs a shell script on a terminal of that size; in it `$WAYPOST` is the built executable.
    init(_ script: String, rows: Int = 24, columns: Int = 80, environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "script", "--quiet", "--return", "--flush", "--command",
            "stty rows \(rows) cols \(columns); \(script)", "/dev/null",
        ]
        process.environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("WAYPOST_") }
            .merging(["WAYPOST": CommandProcess.executable.path, "TERM": "xterm", "SHELL": "/bin/sh"]) { $1 }
            .merging(environment) { $1 }
        let output = Pipe.forOneChild()
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        process.terminationHandler = { [log] process in
            log.append(.ended(process.terminationStatus))
        }
        try withNoSignalBlocked { try process.run() }
        let handle = output.fileHandleForReading
        Thread.detachNewThread { [log] in
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                log.append(.output(data))
            }
            log.append(.outputEnded)
        }
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// Presses keys.
    func type(_ keys: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(keys.utf8))
    }

    /// All that was written to the terminal so far.
    var text: String { Self.text(of: log.events) }

    /// How much was written so far; what comes later can be waited for alone.
    var mark: Int { log.events.count }

    /// Waits until something was written to the terminal, after a mark.
    @discardableResult
    func shows(_ needle: String, after mark: Int = 0) async throws -> String {
        try await log.wait(for: "\(needle.debugDescription) on the terminal") { events in
            Self.text(of: events.dropFirst(mark)).contains(needle)
        }
        return Self.text(of: log.events.dropFirst(mark))
    }

    /// Waits for the end of the shell, and of all that it printed: its status.
    func status() async throws -> Int32 {
        try await log.wait(for: "the end of what is printed on the terminal") { events in
            events.contains { if case .outputEnded = $0 { true } else { false } }
        }
        return try await log.first("the end of the terminal's shell") { event in
            if case .ended(let status) = event { status } else { nil }
        }
    }

    private static func text(of events: some Sequence<Event>) -> String {
        // Decoded as a whole: a character may come in two pieces.
        let bytes = events.flatMap { event in
            if case .output(let data) = event { data } else { Data() }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
