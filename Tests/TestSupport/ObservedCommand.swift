public import Foundation

/// How a command ended.
public struct CommandEnding: Sendable {
    /// The exit status, or the number of the signal that killed it, negative.
    public var status: Int32
    /// The lines on standard output.
    public var output: [String]
    /// The lines on standard error.
    public var errorLines: [String]
}

/// A command of `waypost` with what it prints as it comes, wherever it runs.
///
/// Nothing here blocks a thread: the tasks of a test run share a few.
public protocol ObservedCommand: Sendable {
    /// What it has printed, and its end.
    var log: CommandLog { get }

    /// Sends a signal, if it still runs.
    func send(signal: Int32)
}

/// What a command has printed so far, and its end.
public final class CommandLog: Sendable {
    fileprivate enum Event: Sendable {
        case output(String)
        case errorLine(String)
        case outputClosed
        case errorsClosed
        case ended(Int32)

        var status: Int32? { if case .ended(let status) = self { status } else { nil } }
    }

    fileprivate let events = EventLog<Event>()
    fileprivate let words: [String]
    /// Grows with the processor's time that the command uses, by 1 each quarter of a second: far more than one uses
    /// that only waits.
    fileprivate let progress: @Sendable () -> Int

    /// That of a command.
    ///
    /// - Parameter processorTime: what the command has used so far, in hundredths of a second.
    public init(_ words: [String], processorTime: @escaping @Sendable () -> Int) {
        self.words = words
        progress = { processorTime() / 25 }
    }

    /// Takes what the command prints, until both are closed.
    public func follow(output: FileHandle, errors: FileHandle) {
        events.follow(output, Event.output, last: .outputClosed)
        events.follow(errors, Event.errorLine, last: .errorsClosed)
    }

    /// The command has ended, with this status.
    public func ended(_ status: Int32) { events.append(.ended(status)) }
}

extension ObservedCommand {
    /// The lines on standard error so far.
    public var errorLines: [String] { log.events.events.compactMap(Self.errorLine) }

    /// Whether it has not ended yet, by itself or by a signal.
    public var isRunning: Bool { !log.events.events.contains { $0.status != nil } }

    /// Waits for a line on standard output; with `times`, for that many: the last of them.
    @discardableResult
    public func printed(_ needle: String, times: Int = 1) async throws -> String {
        try await line(needle, times, "standard output") {
            if case .output(let line) = $0 { line } else { nil }
        }
    }

    /// Waits for a line on standard error; with `times`, for that many: the last of them.
    @discardableResult
    public func printedError(_ needle: String, times: Int = 1) async throws -> String {
        try await line(needle, times, "standard error", Self.errorLine)
    }

    /// Waits for its end: the exit status, or the signal that killed it, negative.
    public func status() async throws -> Int32 {
        try await log.events.first("the end of \(log.words)", progress: log.progress, \.status)
    }

    /// Waits for the end, and for all that was printed.
    public func ending() async throws -> CommandEnding {
        var ending = CommandEnding(status: try await status(), output: [], errorLines: [])
        // Not with a look at all lines for each that comes: of many, that takes minutes on a busy machine.
        let what = "the output of \(log.words)"
        try await log.events.first(what) { if case .outputClosed = $0 { () } else { nil } }
        try await log.events.first(what) { if case .errorsClosed = $0 { () } else { nil } }
        for event in log.events.events {
            switch event {
            case .output(let line): ending.output.append(line)
            case .errorLine(let line): ending.errorLines.append(line)
            case .ended, .outputClosed, .errorsClosed: break
            }
        }
        return ending
    }

    private static func errorLine(_ event: CommandLog.Event) -> String? {
        if case .errorLine(let line) = event { line } else { nil }
    }

    private func line(
        _ needle: String, _ times: Int, _ place: String,
        _ text: @escaping @Sendable (CommandLog.Event) -> String?
    ) async throws -> String {
        @Sendable func lines(_ events: [CommandLog.Event]) -> [String] {
            events.compactMap(text).filter { $0.contains(needle) }
        }
        try await log.events.wait(for: "\(needle) on \(place), \(times) times", progress: log.progress) {
            lines($0).count >= times
        }
        return lines(log.events.events)[times - 1]
    }
}
