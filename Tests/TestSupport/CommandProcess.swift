public import Foundation

/// The built `waypost` as a process, for tests of what only a process has: signals, pipes, a shell around it.
///
/// What a command prints, returns and sends is the same in the test's own process, and much cheaper: `RunningCommand`.
public final class CommandProcess: ObservedCommand {
    /// What it has printed, and its end.
    public let log: CommandLog
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
        process.environment = Self.inherited.merging(environment) { _, new in new }
        let (output, errors, source) = (Pipe.forOneChild(), Pipe.forOneChild(), Pipe.forOneChild())
        process.standardOutput = output
        process.standardError = standardError ?? errors
        process.standardInput = source
        let log = CommandLog(process.arguments ?? []) { [process] in
            Self.processorTime(process.processIdentifier)
        }
        self.log = log
        process.terminationHandler = { process in
            let status = process.terminationStatus
            log.ended(process.terminationReason == .uncaughtSignal ? -status : status)
        }
        try withNoSignalBlocked { try process.run() }
        // With nobody to write to it, it has its end at once.
        if standardError != nil { try errors.fileHandleForWriting.close() }
        log.follow(output: output.fileHandleForReading, errors: errors.fileHandleForReading)
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

    /// Our environment without our settings.
    public static var inherited: [String: String] {
        ProcessInfo.processInfo.environment
            // The one that scripts/test --mutants sets is for all of the code.
            .filter { !$0.key.hasPrefix("WAYPOST_") || $0.key == "WAYPOST_MUTANT" }
    }

    /// Runs a command to its end.
    public static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        through script: String? = nil
    ) async throws -> CommandEnding {
        try await CommandProcess(arguments, environment: environment, input: input, through: script).ending()
    }

    /// Its process id.
    public var processID: Int32 { process.processIdentifier }

    /// Sends a signal, if it still runs.
    public func send(signal: Int32) { if process.isRunning { kill(process.processIdentifier, signal) } }

    /// What a process has used so far, in hundredths of a second.
    private static func processorTime(_ processID: Int32) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)) ?? ""
        // Behind the name, which may hold anything.
        let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.dropFirst(11).prefix(4).reduce(0) { $0 + (Int($1) ?? 0) }
    }
}
