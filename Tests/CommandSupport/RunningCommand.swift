import Foundation
public import TestSupport
import WaypostCLI

/// A command of `waypost` in the test's own process, with what it prints as it comes.
///
/// It is the program from its command line to its exit status, with standard streams and an environment of its own.
/// What only a process has is tested with a `CommandProcess`.
public final class RunningCommand: ObservedCommand {
    /// How a command ended.
    public typealias Ending = CommandEnding

    /// Where standard output goes.
    public enum Output: Sendable {
        /// To who waits for it, see ``printed(_:times:)``.
        case read
        /// To a disk that is full.
        case full
        /// To a reader that has gone.
        case unread
    }

    /// What is read once for the whole process, which runs many commands.
    private static let variablesOfTheProcess: Set = [
        "LD_PRELOAD", "NOTIFY_SOCKET", "TZ", "WAYPOST_CLOCK_OFFSET", "WAYPOST_FAULT", "WAYPOST_STALL",
    ]

    /// What it has printed, and its end.
    public let log: CommandLog
    private let invocation: Invocation

    /// Starts the command; our own settings in the environment are taken away before `environment` is added.
    public init(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        output kind: Output = .read
    ) throws {
        let foreign = Self.variablesOfTheProcess.intersection(environment.keys)
        precondition(foreign.isEmpty, "\(foreign) need a process of their own: CommandProcess, AgentProcess")
        _ = Self.outlivesReaders
        let (output, errors) = (try Self.channel(kind), try Self.channel())
        let source = input.map { _ in Pipe.forOneChild() }
        let reading =
            source.map { dup($0.fileHandleForReading.fileDescriptor) } ?? open("/dev/null", O_RDONLY)
        _ = fcntl(reading, F_SETFD, FD_CLOEXEC)
        log = CommandLog(arguments) { Self.processorTime }
        var variables = CommandProcess.inherited.merging(environment) { _, new in new }
        // What the broker keeps is read within 10 s otherwise, which is too little beside forty other tests.
        if arguments.first == "agents", !arguments.contains("--ask"), variables["WAYPOST_WAIT"] == nil {
            variables["WAYPOST_WAIT"] = "10m"
        }
        invocation = Invocation(
            arguments, environment: variables,
            input: reading, output: output.writing, errors: errors.writing)
        log.follow(output: output.reading, errors: errors.reading)
        Task.detached { [log, invocation] in
            let status = await WaypostProgram.run(invocation)
            // Not closed: a thread that still has something to say must not say it to another's file.
            for descriptor in [output.writing, errors.writing] { shutdown(descriptor, Int32(SHUT_WR)) }
            log.ended(status)
        }
        if let input, let source {
            try source.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try source.fileHandleForWriting.close()
        }
    }

    deinit { _ = invocation.signals.arrived(isTermination: true) }

    /// Runs a command to its end.
    public static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        output: Output = .read
    ) async throws -> Ending {
        try await RunningCommand(arguments, environment: environment, input: input, output: output).ending()
    }

    /// Has SIGINT or SIGTERM do what it does to the process of a command; no other can, nor a second.
    public func send(signal: Int32) {
        precondition(
            signal == SIGINT || signal == SIGTERM, "signal \(signal) needs a process: CommandProcess")
        _ = invocation.signals.arrived(isTermination: signal == SIGTERM)
    }

    /// A reader that goes away is an answer of write, as it is for the program.
    ///
    /// By a handler, which children do not inherit as they do a signal that is ignored.
    private static let outlivesReaders: Void = {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in }
        sigaction(SIGPIPE, &action, nil)
    }()

    /// A socket whose reading ends when the writing side says so, whoever else still has that.
    private static func channel(_ kind: Output = .read) throws -> (reading: FileHandle, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw TestBroker.Failure(description: "socketpair: errno \(errno)")
        }
        switch kind {
        case .read: break
        case .full:
            close(ends[1])
            ends[1] = open("/dev/full", O_WRONLY)
        case .unread:
            close(ends[0])
            ends[0] = open("/dev/null", O_RDONLY)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (FileHandle(fileDescriptor: ends[0]), ends[1])
    }

    /// What this process has used so far, in hundredths of a second: the part of one command is not known.
    private static var processorTime: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + $1.tv_sec * 100 + Int($1.tv_usec) / 10_000 }
    }
}
