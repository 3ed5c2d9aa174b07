import Foundation
import Glibc
import TestSupport
import Threading

/// Passes on what goes between clients and a broker, until it is cut: so one client loses its connection and the others
/// keep theirs.
final class Relay: Sendable {
    private struct State {
        var isOpen = true
        var descriptors: [Int32] = []
        /// How many clients came with MQTT 5.
        var came5 = 0
    }

    let port: UInt16
    private let listener: Int32
    private let state = Guarded(State())

    /// - Parameter refuses5: Whether a client that comes with MQTT 5 finds the connection closed, without a word.
    init(to broker: UInt16, refuses5: Bool = false) throws {
        (listener, port) = try Loopback.listen()
        Thread.detachNewThread { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                guard state.withLock(\.isOpen), let server = try? IdleClient(port: broker) else {
                    close(client)
                    continue
                }
                state.withLock { $0.descriptors += [client, server.descriptor] }
                pass(from: client, to: server.descriptor, keeping: server, refuses5: refuses5)
                pass(from: server.descriptor, to: client, keeping: server)
            }
            close(listener)
        }
    }

    /// `mqtt://127.0.0.1:PORT`.
    var url: String { "mqtt://127.0.0.1:\(port)" }

    /// How many clients have come with MQTT 5 and were refused.
    var refused5: Int { state.withLock(\.came5) }

    /// Ends all connections, and makes no more.
    func cut() {
        let descriptors = state.withLock { state in
            state.isOpen = false
            defer { state.descriptors = [] }
            return state.descriptors
        }
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    /// Makes connections again.
    func mend() { state.withLock { $0.isOpen = true } }

    /// Ends it for good.
    func end() {
        cut()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func pass(
        from source: Int32, to sink: Int32, keeping server: IdleClient, refuses5: Bool = false
    ) {
        Thread.detachNewThread { [self] in
            var bytes = [UInt8](repeating: 0, count: 65_536)
            var mayRefuse = refuses5
            while case let count = read(source, &bytes, bytes.count), count > 0 {
                // In a CONNECT the version stands behind the name of the protocol.
                let name = bytes[..<count].firstIndex(of: UInt8(ascii: "M"))
                if mayRefuse, let name, bytes[name + 4] == 5 {
                    state.withLock { $0.came5 += 1 }
                    break
                }
                mayRefuse = false
                guard send(sink, bytes, count, Int32(MSG_NOSIGNAL)) == count else { break }
            }
            shutdown(sink, Int32(SHUT_RDWR))
            if mayRefuse { shutdown(source, Int32(SHUT_RDWR)) }
            withExtendedLifetime(server) {}
        }
    }
}
