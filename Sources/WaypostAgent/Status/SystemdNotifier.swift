import Glibc

/// Tells systemd, or another service manager, the state of the process: datagrams to a socket named in the environment
/// (sd_notify(3)).
struct SystemdNotifier: Sendable {
    private let socket: String
    /// How often it expects a sign that all is well, in milliseconds; nil when it expects none.
    let watchdog: Int64?

    /// Nil when the environment names none.
    init?(environment: (String) -> String? = { getenv($0).map { String(cString: $0) } }) {
        guard let socket = environment("NOTIFY_SOCKET"), socket.hasPrefix("/") || socket.hasPrefix("@"),
            socket.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else { return nil }
        self.socket = socket
        let isForUs = environment("WATCHDOG_PID").map { $0 == String(getpid()) } ?? true
        let interval = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdog = isForUs && interval > 0 ? max(1, interval / 1000) : nil
    }

    /// Sends lines such as `READY=1`; what can't be sent is dropped, so that the agent never waits for the manager.
    func notify(_ lines: String...) {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(socket.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { target in
            target.copyBytes(from: path)
            // An abstract name begins with a NUL.
            if path.first == UInt8(ascii: "@") { target[0] = 0 }
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let text = Array((lines.joined(separator: "\n") + "\n").utf8)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = sendto(
                    descriptor, text, text.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT),
                    address, length)
            }
        }
    }
}
