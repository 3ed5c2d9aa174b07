public import Foundation

/// The built `waypost` as a process, with what it prints as it comes.
///
/// Nothing here blocks a thread: the tasks of a test run share a few.
public final class RunningCommand: Sendable {
    /// How a command ended.
    public struct Ending: Sendable {
        /// The exit status, or the number of the signal that killed it, negative.
        public var status: Int32
        /// The lines on standard output.
        public var output: [String]
        /// The lines on standard error.
        public var errorLines: [String]
    }

    private enum Event: Sendable {
        case output(String)
        case errorLine(String)
        case outputClosed
        case errorsClosed
        case ended(Int32)

        var status: Int32? { if case .ended(let status) = self { status } else { nil } }
    }

    private let log = EventLog<Event>()
    private let process = Process()

    /// Starts the command; our own settings in the environment are taken away before `environment` is added.
    ///
    /// - Parameters:
    ///   - script: Of bash, which runs the command as `"$0" "$@"`; nil to run it without a shell.
    ///   - standardError: where its errors go; nil to have them as ``errorLines``.
    public init(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        through script: String? = nil, standardError: FileHandle? = nil
    ) throws {
        process.executableURL = script == nil ? Self.executable : URL(fileURLWithPath: "/bin/bash")
        process.arguments = script.map { ["-c", $0, Self.executable.path] + arguments } ?? arguments
        process.environment = ProcessInfo.processInfo.environment
            // The one that scripts/test --mutants sets is for all of the code.
            .filter { !$0.key.hasPrefix("WAYPOST_") || $0.key == "WAYPOST_MUTANT" }
            .merging(environment) { _, new in new }
        let (output, errors, source) = (Pipe.forOneChild(), Pipe.forOneChild(), Pipe.forOneChild())
        process.standardOutput = output
        process.standardError = standardError ?? errors
        process.standardInput = source
        process.terminationHandler = { [log] process in
            let status = process.terminationStatus
            log.append(.ended(process.terminationReason == .uncaughtSignal ? -status : status))
        }
        try withNoSignalBlocked { try process.run() }
        log.follow(output.fileHandleForReading, Event.output, last: .outputClosed)
        // With nobody to write to it, it has its end at once.
        if standardError != nil { try errors.fileHandleForWriting.close() }
        log.follow(errors.fileHandleForReading, Event.errorLine, last: .errorsClosed)
        if let input { try source.fileHandleForWriting.write(contentsOf: Data(input.utf8)) }
        try source.fileHandleForWriting.close()
    }

    deinit { send(signal: SIGKILL) }

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

    /// Runs a command to its end.
    public static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        through script: String? = nil
    ) async throws -> Ending {
        try await RunningCommand(arguments, environment: environment, input: input, through: script).ending()
    }

    /// Its process id.
    public var processID: Int32 { process.processIdentifier }

    /// Sends a signal, if it still runs.
    public func send(signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

    /// The lines on standard error so far.
    public var errorLines: [String] {
        log.events.compactMap { if case .errorLine(let line) = $0 { line } else { nil } }
    }

    /// Waits for a line on standard output; with `times`, for that many: the last of them.
    @discardableResult
    public func printed(_ needle: String, times: Int = 1) async throws -> String {
        @Sendable func lines(_ events: [Event]) -> [String] {
            events.compactMap { if case .output(let line) = $0, line.contains(needle) { line } else { nil } }
        }
        try await log.wait(for: "\(needle) on standard output, \(times) times", progress: progress) {
            lines($0).count >= times
        }
        return lines(log.events)[times - 1]
    }

    /// Waits for a line on standard error; with `times`, for that many: the last of them.
    @discardableResult
    public func printedError(_ needle: String, times: Int = 1) async throws -> String {
        @Sendable func lines(_ events: [Event]) -> [String] {
            events.compactMap {
                if case .errorLine(let line) = $0, line.contains(needle) { line } else { nil }
            }
        }
        try await log.wait(for: "\(needle) on standard error, \(times) times", progress: progress) {
            lines($0).count >= times
        }
        return lines(log.events)[times - 1]
    }

    /// Waits for the end of the process: the exit status, or the signal that killed it, negative.
    public func status() async throws -> Int32 {
        try await log.first("the end of \(process.arguments ?? [])", progress: progress, \.status)
    }

    /// Grows with the processor's time that the command uses, by 1 each quarter of a second: far more than one uses
    /// that only waits.
    private var progress: @Sendable () -> Int {
        { [processID] in
            let status = (try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)) ?? ""
            // Behind the name, which may hold anything; in hundredths of a second.
            let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.dropFirst(11).prefix(4).reduce(0) { $0 + (Int($1) ?? 0) } / 25
        }
    }

    /// Waits for the end, and for all that was printed.
    public func ending() async throws -> Ending {
        var ending = Ending(status: try await status(), output: [], errorLines: [])
        // Not with a look at all lines for each that comes: of many, that takes minutes on a busy machine.
        let what = "the output of \(process.arguments ?? [])"
        try await log.first(what) { if case .outputClosed = $0 { () } else { nil } }
        try await log.first(what) { if case .errorsClosed = $0 { () } else { nil } }
        for event in log.events {
            switch event {
            case .output(let line): ending.output.append(line)
            case .errorLine(let line): ending.errorLines.append(line)
            case .ended, .outputClosed, .errorsClosed: break
            }
        }
        return ending
    }
}
