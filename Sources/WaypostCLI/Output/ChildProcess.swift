import Glibc
import Threading

/// A program that this one started.
final class ChildProcess: Sendable {
    let pid: pid_t
    private let ending: Task<Int32, Never>
    private let ended = Guarded(false)

    /// Whether it has ended by now.
    var hasEnded: Bool { ended.withLock { $0 } }

    /// Its exit status, or 128 and the number of the signal that ended it; waits for its end.
    var status: Int32 { get async { await ending.value } }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - input: its standard input; nothing when nil.
    ///   - log: the file for what it prints.
    ///   - group: the process group to join; 0 for a new one.
    ///   - variables: what its environment has beside the one of this process.
    init(
        _ executable: String, _ arguments: [String], input: Int32? = nil, log: String, group: pid_t,
        variables: [String: String] = [:]
    ) throws(CommandError) {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        if let input {
            posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Ctrl-C at the terminal is for the demo alone; it ends the others in its order.
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))
        posix_spawnattr_setpgroup(&attributes, group)
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)

        var child: pid_t = 0
        let code = Self.withStrings([executable] + arguments) { arguments in
            Self.withStrings(Self.environment(with: variables)) { environment in
                posix_spawn(&child, executable, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else {
            throw CommandError(.failed, "start \(executable): \(String(cString: strerror(code)))")
        }
        let pid = child
        self.pid = pid
        ending = Task { await Self.wait(for: pid) }
        Task { [self] in
            _ = await ending.value
            ended.withLock { $0 = true }
        }
    }

    /// Asks it to end, insists after the limit, and waits for its end.
    @discardableResult
    func terminate(within limit: Duration = .seconds(10)) async -> Int32 {
        guard !hasEnded else { return await status }
        kill(pid, SIGTERM)
        let insist = Task { [pid] in
            guard (try? await MonotonicTime.sleep(for: limit)) != nil else { return }
            kill(pid, SIGKILL)
        }
        defer { insist.cancel() }
        return await ending.value
    }

    /// The environment without settings of ours, and so without passwords: the demo is the same everywhere.
    private static func environment(with variables: [String: String]) -> [String] {
        Invocation.current.environment
            .filter { !$0.key.hasPrefix("WAYPOST_") && $0.key != "STATE_DIRECTORY" }
            .merging(variables) { _, new in new }
            .map { "\($0.key)=\($0.value)" }
    }

    private static func wait(for pid: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            let wait: @Sendable () -> Void = {
                var status: Int32 = 0
                while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
                let signal = status & 0x7F
                continuation.resume(returning: signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
            }
            // A thread of its own, for waitpid blocks; where the system has none, this one.
            if PlainThread.start(name: "wp-child", wait) != nil { wait() }
        }
    }

    /// Lends C an array of strings that ends with a null.
    private static func withStrings<Value>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
    ) -> Value {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
