import Foundation
import Synchronization
import TestSupport

/// The built `waypost` as a process, with what it prints as it comes.
final class RunningCommand: Sendable {
    /// How a command ended.
    struct Ending: Sendable {
        var status: Int32
        var output: [String]
        var complaints: [String]
    }

    private enum Event: Sendable {
        case output(String)
        case complaint(String)
        case closed
        case ended(Int32)
    }

    private let log = EventLog<Event>()
    private nonisolated(unsafe) let process = Process()  // Configured before it runs, then only signalled.

    /// Starts the command; our own settings in the environment are taken away before `environment` is added.
    init(_ arguments: [String], environment: [String: String] = [:], input: String? = nil) throws {
        process.executableURL = AgentProcess.executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("WAYPOST_") }
            .merging(environment) { _, new in new }
        let (output, complaints, source) = (Pipe(), Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = complaints
        process.standardInput = source
        process.terminationHandler = { [log] in log.append(.ended($0.terminationStatus)) }
        try process.run()
        read(output, Event.output)
        read(complaints, Event.complaint)
        if let input { try source.fileHandleForWriting.write(contentsOf: Data(input.utf8)) }
        try source.fileHandleForWriting.close()
    }

    /// Runs a command to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil
    ) async throws -> Ending {
        try await RunningCommand(arguments, environment: environment, input: input).ending()
    }

    var processID: Int32 { process.processIdentifier }

    func send(signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for a line on standard output.
    @discardableResult
    func printed(_ needle: String) async throws -> String {
        try await log.first("\(needle) on standard output") { event in
            if case .output(let line) = event, line.contains(needle) { line } else { nil }
        }
    }

    /// Waits for a line on standard error.
    @discardableResult
    func complained(_ needle: String) async throws -> String {
        try await log.first("\(needle) on standard error") { event in
            if case .complaint(let line) = event, line.contains(needle) { line } else { nil }
        }
    }

    /// Waits for the end, and for all that was printed.
    func ending() async throws -> Ending {
        try await log.wait(for: "the end of \(process.arguments ?? [])") { events in
            events.count { if case .closed = $0 { true } else { false } } == 2
                && events.contains { if case .ended = $0 { true } else { false } }
        }
        var ending = Ending(status: -1, output: [], complaints: [])
        for event in log.events {
            switch event {
            case .output(let line): ending.output.append(line)
            case .complaint(let line): ending.complaints.append(line)
            case .ended(let status): ending.status = status
            case .closed: break
            }
        }
        return ending
    }

    private func read(_ pipe: Pipe, _ make: @escaping @Sendable (String) -> Event) {
        let handle = pipe.fileHandleForReading
        Thread.detachNewThread { [log] in
            var rest = Data()
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    log.append(make(String(decoding: rest[rest.startIndex..<end], as: UTF8.self)))
                    rest = Data(rest[rest.index(after: end)...])
                }
            }
            if !rest.isEmpty { log.append(make(String(decoding: rest, as: UTF8.self))) }
            log.append(.closed)
        }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}
