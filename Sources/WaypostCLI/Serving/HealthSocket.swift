import Glibc
import Threading
import Waypost

/// The agent's health on a Unix socket in its state directory: one JSON object for each connection.
///
/// It asks the agent itself, so it works without a broker, and without rights at one. Only the agent's user, and
/// root, can connect.
struct HealthSocket {
    static let name = "health.sock"
    private static let maximumAnswer = 1 << 20

    private let directory: String
    private let server: SmallServer

    /// Listens in the state directory of an agent that holds its lock.
    ///
    /// - Throws: ``CommandError`` 1 when it can't be listened on.
    init(in directory: String) throws(CommandError) {
        let listener = try Self.withSocket(in: directory) { (socket, address, size) throws(CommandError) in
            // The lock is ours, so one that is there is left over from a run that was killed.
            unlink("\(directory)/\(Self.name)")
            guard fchmod(socket, 0o600) == 0, bind(socket, address, size) == 0, listen(socket, 16) == 0 else {
                throw Self.fault(directory, errno)
            }
        }
        self.directory = directory
        server = SmallServer(listener: listener)
    }

    /// Answers with what `health` returns, until it is removed.
    func start(_ health: @escaping @Sendable () -> JSONValue) throws(CommandError) {
        try server.start(thread: "wp-health") { _ in health().serialized() + [UInt8(ascii: "\n")] }
    }

    /// Takes the socket out of the directory; no one can ask any more.
    func remove() {
        unlink("\(directory)/\(Self.name)")
        server.stop()
    }

    /// Asks the agent that uses a state directory; blocks for up to `limit`.
    ///
    /// - Throws: ``CommandError`` 3 when no agent answers.
    static func ask(in directory: String, within limit: Duration) throws(CommandError) -> JSONValue {
        let end = MonotonicTime.instant + limit
        let socket = try withSocket(in: directory) { (socket, address, size) throws(CommandError) in
            while connect(socket, address, size) != 0 {
                // Others wait to be accepted, as many as may.
                guard errno == EAGAIN, MonotonicTime.instant < end else { throw noAnswer(directory, errno) }
                CurrentThread.sleep(for: .milliseconds(10))
            }
        }
        defer { close(socket) }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while answer.count <= maximumAnswer {
            let left = Int32(clamping: (end - MonotonicTime.instant).milliseconds)
            var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&ready, 1, left) >= 0 || errno == EINTR else { break }
            let count = read(socket, &buffer, buffer.count)
            if count == 0 {
                guard let json = try? JSONValue(parsing: answer, limits: .trustedFile),
                    json.objectValue != nil
                else { break }
                return json
            }
            if count > 0 { answer += buffer[..<count] } else if errno != EAGAIN && errno != EINTR { break }
        }
        throw CommandError(.noReply, "the agent with the state directory \(directory) does not answer")
    }

    private static func noAnswer(_ directory: String, _ code: Int32) -> CommandError {
        switch code {
        case ENOENT, ECONNREFUSED:
            CommandError(
                .noReply, "no agent answers in \(directory): none runs there, or it is no `waypost agent`")
        // It accepted none of those who wait.
        case EAGAIN:
            CommandError(.noReply, "the agent with the state directory \(directory) does not answer")
        default: fault(directory, code)
        }
    }

    private static func fault(_ directory: String, _ code: Int32) -> CommandError {
        CommandError(.failed, "\(directory)/\(name): \(String(cString: strerror(code)))")
    }

    /// Makes a socket and hands it over with its address, which is short however long the directory's path is.
    private static func withSocket(
        in directory: String,
        _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) throws(CommandError) -> Void
    ) throws(CommandError) -> Int32 {
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else {
            throw errno == ENOENT ? noAnswer(directory, ENOENT) : fault(directory, errno)
        }
        defer { close(folder) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A path in an address has at most 107 bytes.
        let path = Array("/proc/self/fd/\(folder)/\(name)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(AF_UNIX, type, 0)
        guard socket >= 0 else { throw fault(directory, errno) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let problem = withUnsafePointer(to: &address) { pointer -> CommandError? in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                do throws(CommandError) {
                    try body(socket, address, size)
                    return nil
                } catch {
                    return error
                }
            }
        }
        if let problem {
            close(socket)
            throw problem
        }
        return socket
    }
}
