import Foundation
import Synchronization
import Threading

/// One life of a mosquitto process, or of another server.
final class RunningBroker: Sendable {
    /// Logged by us when the process has ended.
    static let lastLine = "(mosquitto has ended)"

    let pid: pid_t
    private let shell: Mutex<Process>
    /// The shell's input: when it closes, the shell ends the broker.
    private let lifeline: FileHandle

    /// A shell stands between, so that mosquitto does not outlive the test process.
    ///
    /// However that one dies, the shell's input closes, and it takes mosquitto with it. It also says when mosquitto
    /// has ended, and not before the process is gone.
    private static let script = """
        exec 3<&0
        "$@" & broker=$!
        echo $broker
        (read -r _ <&3; kill -9 $broker) 2>/dev/null & watcher=$!
        wait $broker
        kill $watcher
        echo "\(lastLine)" >&2
        """

    init(_ executable: String, _ arguments: [String], _ lines: EventLog<String>) throws {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", Self.script, "sh", executable] + arguments
        let (input, output, log) = (Pipe.forOneChild(), Pipe.forOneChild(), Pipe.forOneChild())
        shell.standardInput = input
        shell.standardOutput = output
        shell.standardError = log
        try withNoSignalBlocked { try shell.run() }
        lifeline = input.fileHandleForWriting
        self.shell = Mutex(shell)
        var text = ""
        while !text.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            text += String(decoding: data, as: UTF8.self)
        }
        try output.fileHandleForReading.close()
        guard let pid = pid_t(text.dropLast()) else {
            throw TestBroker.Failure(description: "no pid from the shell that starts \(executable): \(text)")
        }
        self.pid = pid
        lines.follow(log.fileHandleForReading, \.self)
    }

    /// Ends what still runs, and waits for it.
    func end() {
        try? lifeline.close()
        shell.withLock { $0.waitUntilExit() }
    }
}

/// A port that was free a moment ago.
public enum FreePort {
    private static let given = Guarded<Set<UInt16>>([])
    /// A byte for each port: who has locked it was given that one, and keeps it until its process ends.
    ///
    /// At one place for all that runs on the machine, whatever its temporary folder is.
    private static let book = open(
        "/tmp/waypost-test-ports", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)

    /// Below those that the system gives away by itself: to the broker of a script, or to a client's end of a connection.
    private static let range: ClosedRange<UInt16> = 10_240...32_767

    /// One on the loopback that no process of tests was given before.
    ///
    /// An agent of a test that is over, or whose broker is down, looks for its broker: it must not find that of another test.
    public static func find() throws -> UInt16 {
        while true {
            let port = UInt16.random(in: range)
            if given.withLock({ $0.insert(port).inserted && lock(port) }), try isFree(port) { return port }
        }
    }

    /// False when another process has it.
    private static func lock(_ port: UInt16) -> Bool {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        (range.l_start, range.l_len) = (off_t(port), 1)
        // Where another user was first the file can't be opened, and only this process's own ports are told apart.
        return fcntl(book, F_SETLK, &range) == 0 || (errno != EAGAIN && errno != EACCES)
    }

    private static func isFree(_ port: UInt16) throws -> Bool {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw TestBroker.Failure(description: "socket: errno \(errno)") }
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) == 0 }
        }
    }
}
