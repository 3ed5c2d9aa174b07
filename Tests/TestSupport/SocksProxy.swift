import Foundation
import Synchronization

/// Debian's microsocks, a real SOCKS5 proxy, on a free port of the loopback.
public final class SocksProxy: Sendable {
    /// The port.
    public let port: UInt16
    private let process = Mutex<RunningBroker?>(nil)
    private let lines = EventLog<String>()
    private let words: [String]

    /// Starts it and waits until it accepts connections.
    public init(user: String? = nil, password: String? = nil) async throws {
        port = try FreePort.find()
        let login = (user.map { ["-u", $0] } ?? []) + (password.map { ["-P", $0] } ?? [])
        words = ["-i", "127.0.0.1", "-p", "\(port)"] + login
        try await start()
    }

    private func start() async throws {
        try process.withLock { [lines, words] in
            $0 = try RunningBroker("/usr/bin/microsocks", words, lines)
        }
        try await eventually("microsocks to accept connections") { [port] in
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(client) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }

    deinit { end() }

    /// `socks5://127.0.0.1:PORT`.
    public var url: String { "socks5://127.0.0.1:\(port)" }

    /// What it has logged: `client[5] 127.0.0.1: connected to localhost:41883`.
    public var log: [String] { lines.events }

    /// Ends it, with what goes through it, and starts it again on its port.
    public func restart() async throws {
        end()
        try await start()
    }

    /// Freezes it: the system takes connections for it, and nothing goes through.
    public func pause() { signal(SIGSTOP) }

    /// Lets it run again.
    public func resume() { signal(SIGCONT) }

    private func signal(_ number: Int32) { process.withLock { _ = $0.map { kill($0.pid, number) } } }

    /// Ends it, and with it what goes through it.
    public func end() {
        process.withLock { process in
            process?.end()
            process = nil
        }
    }
}
