import Glibc

/// Ends the demo's processes and removes its directory when the demo ends, however it ends.
///
/// A shell waits at the other end of a pipe. When the demo closes it, or is killed, even by kill -9, the shell
/// ends all that runs in its process group and removes the directory.
final class ProcessGroupGuard: Sendable {
    /// The directory that is removed at the end.
    let directory: String
    private let shell: ChildProcess
    private let handle: Int32

    private static let script = """
        PATH="/usr/bin:/bin:$PATH"; cat >/dev/null; trap '' TERM INT HUP; kill -TERM 0; \
        rm -rf "$0" 2>/dev/null || { sleep 1; rm -rf "$0"; }; kill -KILL 0
        """

    /// The process group of all that must end with the demo.
    var group: pid_t { shell.pid }

    init() throws(CommandError) {
        let parent = UserFolder.temporary(Invocation.current.environment)
        var template = Array("\(parent)/waypost-demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CommandError(.failed, "make a directory in \(parent): \(String(cString: strerror(errno)))")
        }
        directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw CommandError(.failed, "make a pipe: \(String(cString: strerror(errno)))")
        }
        // The shell sees the end when the last copy of the writing end is closed, so the children must not have one.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        handle = ends[1]
        shell = try ChildProcess(
            "/bin/sh", ["-c", Self.script, directory], input: ends[0], log: "/dev/null", group: 0)
    }

    /// Ends the processes, and waits until all of them have ended.
    func release() async {
        close(handle)
        _ = await shell.status
    }
}
