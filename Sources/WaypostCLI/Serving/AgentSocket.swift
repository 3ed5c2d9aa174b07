import Glibc
import Threading
import Waypost

/// A Unix socket of an agent in its state directory: one line of JSON for each connection, and one object as the answer.
///
/// It reaches the agent itself, so it works without a broker, and without rights at one. Only the agent's user, and
/// root, can connect.
struct AgentSocket {
    /// What it is for.
    enum Purpose: String {
        /// The agent's health, without a question.
        case health
        /// Commands of programs of this machine.
        case commands

        fileprivate var name: String { "\(rawValue).sock" }
    }

    /// As long as any reply.
    private static let maximumAnswer = 1 << 26

    private let purpose: Purpose
    private let directory: String
    private let server: SmallServer

    /// Listens in the state directory of an agent that holds its lock.
    ///
    /// - Throws: ``CommandError`` 1 when it can't be listened on.
    init(_ purpose: Purpose, in directory: String, _ limits: SmallServer.Limits = .init())
        throws(CommandError)
    {
        let listener = try Self.withSocket(purpose, in: directory) {
            (socket, address, size) throws(CommandError) in
            // The lock is ours, so one that is there is left over from a run that was killed.
            unlink("\(directory)/\(purpose.name)")
            guard fchmod(socket, 0o600) == 0, bind(socket, address, size) == 0, listen(socket, 16) == 0 else {
                throw Self.fault(purpose, directory, errno)
            }
        }
        (self.purpose, self.directory) = (purpose, directory)
        server = SmallServer(listener: listener, limits: limits)
    }

    /// Answers until it is removed.
    func start(_ answer: @escaping SmallServer.Answer) throws(CommandError) {
        try server.start(thread: "wp-\(String(describing: purpose))", answer)
    }

    /// Takes the socket out of the directory; no program can ask any more.
    func remove() {
        unlink("\(directory)/\(purpose.name)")
        server.stop()
    }

    /// Asks the agent that uses a state directory; blocks for up to `limit`.
    ///
    /// - Parameter request: What it is asked, in one line.
    /// - Throws: ``CommandError`` 3 when no agent answers.
    static func ask(
        _ purpose: Purpose, _ request: [UInt8] = [], in directory: String, within limit: Duration
    ) throws(CommandError) -> JSONValue {
        let end = MonotonicTime.instant + limit
        let socket = try withSocket(purpose, in: directory) { (socket, address, size) throws(CommandError) in
            while connect(socket, address, size) != 0 {
                // Others wait to be accepted, as many as may.
                guard errno == EAGAIN, MonotonicTime.instant < end else {
                    throw noAnswer(purpose, directory, errno)
                }
                CurrentThread.sleep(for: .milliseconds(10))
            }
        }
        defer { close(socket) }
        func waits(for events: Int32) -> Bool {
            let left = Int32(clamping: (end - MonotonicTime.instant).milliseconds)
            var ready = pollfd(fd: socket, events: Int16(events), revents: 0)
            return left > 0 && (poll(&ready, 1, left) >= 0 || errno == EINTR)
        }
        var rest = request[...]
        while !rest.isEmpty, waits(for: POLLOUT) {
            let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            // It may have answered, and closed, before all of it was there.
            guard count > 0 || errno == EAGAIN || errno == EINTR else { break }
            rest = rest.dropFirst(max(0, count))
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while answer.count <= maximumAnswer {
            guard waits(for: POLLIN) else { break }
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

    private static func noAnswer(_ purpose: Purpose, _ directory: String, _ code: Int32) -> CommandError {
        switch code {
        case ENOENT, ECONNREFUSED:
            CommandError(
                .noReply, "no agent answers in \(directory): none runs there, or it is no `waypost agent`")
        // It accepted none of those who wait.
        case EAGAIN:
            CommandError(.noReply, "the agent with the state directory \(directory) does not answer")
        default: fault(purpose, directory, code)
        }
    }

    private static func fault(_ purpose: Purpose, _ directory: String, _ code: Int32) -> CommandError {
        CommandError(.failed, "\(directory)/\(purpose.name): \(String(cString: strerror(code)))")
    }

    /// Makes a socket and hands it over with its address, which is short however long the directory's path is.
    private static func withSocket(
        _ purpose: Purpose, in directory: String,
        _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) throws(CommandError) -> Void
    ) throws(CommandError) -> Int32 {
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else {
            throw errno == ENOENT ? noAnswer(purpose, directory, ENOENT) : fault(purpose, directory, errno)
        }
        defer { close(folder) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A path in an address has at most 107 bytes.
        let path = Array("/proc/self/fd/\(folder)/\(purpose.name)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(AF_UNIX, type, 0)
        guard socket >= 0 else { throw fault(purpose, directory, errno) }
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
