import Foundation
import Glibc

/// The built `waypost`, run to its end, with the most memory that it had.
public enum MeasuredCommand {
    /// How it ended.
    public struct Ending: Sendable {
        /// The exit status, or the number of the signal that killed it, negative.
        public var status: Int32
        /// What it printed on standard output.
        public var output: String
        /// The most memory that was resident, in KiB.
        public var peakMemory: Int
    }

    /// It could not be started.
    public struct Failure: Error {
        /// The `errno`.
        public var code: Int32
    }

    /// Runs the command without a word of its own on standard error; our settings in the environment are taken away
    /// before `environment` is added.
    public static func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> Ending {
        let file = NSTemporaryDirectory() + "waypost-output-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let words = [CommandProcess.executable.path] + arguments
        let variables = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("WAYPOST_") }
            .merging(environment) { $1 }.map { "\($0)=\($1)" }
        let (status, usage) = try await offThePool { () throws -> (Int32, rusage) in
            let process = try withNoSignalBlocked { try start(words, variables, output: file) }
            var (status, usage) = (Int32(0), rusage())
            while wait4(process, &status, 0, &usage) < 0 {
                guard errno == EINTR else { throw Failure(code: errno) }
            }
            return (status, usage)
        }
        let signal = status & 0x7F
        return Ending(
            status: signal == 0 ? (status >> 8) & 0xFF : -signal,
            output: try String(contentsOfFile: file, encoding: .utf8), peakMemory: usage.ru_maxrss)
    }

    private static func start(
        _ words: [String], _ variables: [String], output: String
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        let (arguments, environment) = (
            words.map { strdup($0) } + [nil], variables.map { strdup($0) } + [nil]
        )
        defer { for text in arguments + environment { free(text) } }
        var process = pid_t()
        let code = posix_spawn(&process, words[0], &actions, nil, arguments, environment)
        guard code == 0 else { throw Failure(code: code) }
        return process
    }
}
