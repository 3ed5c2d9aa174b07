import Glibc
import TestSupport
import Threading

/// Passes on what goes between clients and a broker, until it is cut: so one client loses its connection and the others
/// keep theirs.
final class Relay: Sendable {
    private let server: LoopbackServer
    private let connections: Connections

    /// - Parameters:
    ///   - refuses5: Whether a client that comes with MQTT 5 finds the connection closed, without a word.
    ///   - pause: Microseconds before each piece that the broker sends.
    init(to broker: UInt16, refuses5: Bool = false, pause: UInt32 = 0) throws {
        let connections = Connections()
        self.connections = connections
        server = try LoopbackServer { client in
            guard let broker = try? PlainSocket(port: broker), connections.add([client, broker]) else {
                return
            }
            Self.pass(from: client, to: broker) { bytes in
                // In a CONNECT the version stands behind the name of the protocol.
                guard refuses5, bytes.first == 0x10, let name = bytes.firstIndex(of: UInt8(ascii: "M")),
                    bytes.dropFirst(name + 4).first == 5
                else { return true }
                connections.refuse5()
                return false
            }
            Self.pass(from: broker, to: client) { _ in
                usleep(pause)
                return true
            }
        }
    }

    deinit { cut() }

    /// `mqtt://127.0.0.1:PORT`.
    var url: String { server.url }

    /// How many clients have come with MQTT 5 and were refused.
    var refused5: Int { connections.refused5 }

    /// Ends all connections, and makes no more.
    func cut() { connections.cut() }

    /// Makes connections again.
    func mend() { connections.mend() }

    /// Ends it for good.
    func end() {
        cut()
        server.end()
    }

    private static func pass(
        from source: PlainSocket, to sink: PlainSocket,
        _ mayPass: @escaping @Sendable (ArraySlice<UInt8>) -> Bool
    ) {
        _ = PlainThread.start(name: "relay") {
            while case let bytes = source.read(), !bytes.isEmpty, mayPass(bytes), sink.send(bytes) {}
            source.shutDown()
            sink.shutDown()
        }
    }
}

/// The connections of a relay: each is held until it is cut, since a number that was closed may be another test's.
private final class Connections: Sendable {
    private struct State {
        var isOpen = true
        var sockets: [PlainSocket] = []
        var refused5 = 0
    }

    private let state = Guarded(State())

    var refused5: Int { state.withLock(\.refused5) }

    func refuse5() { state.withLock { $0.refused5 += 1 } }

    /// False when there are to be none.
    func add(_ sockets: [PlainSocket]) -> Bool {
        state.withLock { state in
            if state.isOpen { state.sockets += sockets }
            return state.isOpen
        }
    }

    func cut() {
        let sockets = state.withLock { state in
            state.isOpen = false
            defer { state.sockets = [] }
            return state.sockets
        }
        for socket in sockets { socket.shutDown() }
    }

    func mend() { state.withLock { $0.isOpen = true } }
}
