import Glibc
import TestSupport
import Threading

/// Accepts connections at a free port of the loopback, until it ends or nothing holds it any more.
final class LoopbackServer: Sendable {
    let port: UInt16
    private let listener: Listener

    /// - Parameter connected: Called for each connection in turn, on the thread that accepts.
    init(_ connected: @escaping @Sendable (PlainSocket) -> Void) throws {
        port = try FreePort.find()
        let listener = try Listener(port: port)
        self.listener = listener
        let failure = PlainThread.start(name: "loopback") { listener.run(connected) }
        if let failure { throw TestBroker.Failure(description: "no thread: errno \(failure)") }
    }

    deinit { end() }

    /// `mqtt://127.0.0.1:PORT`.
    var url: String { "mqtt://127.0.0.1:\(port)" }

    /// Accepts no more connections; those that are there stay.
    func end() { listener.end() }
}

/// A socket that listens, closed by the thread that accepts.
///
/// Closed by another, its number may be another test's at once, and that thread would take the connections of that one.
private final class Listener: Sendable {
    private let descriptor: Int32
    private let isOpen = Guarded(true)

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var reuse: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        let isListening = withUnsafeBytes(of: sockaddr_in(loopback: port)) { [descriptor] bytes in
            let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(descriptor, address, socklen_t(bytes.count)) == 0 && listen(descriptor, 4) == 0
        }
        guard isListening else {
            throw TestBroker.Failure(description: "listen: \(String(cString: strerror(errno)))")
        }
    }

    func run(_ connected: (PlainSocket) -> Void) {
        while case let client = accept(descriptor, nil, nil), client >= 0 {
            connected(PlainSocket(accepted: client))
        }
        isOpen.withLock { isOpen in
            isOpen = false
            close(descriptor)
        }
    }

    func end() {
        isOpen.withLock { isOpen in if isOpen { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }
}
