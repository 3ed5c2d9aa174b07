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
    }

    let port: UInt16
    private let listener: Int32
    private let state = Guarded(State())

    init(to broker: UInt16) throws {
        (listener, port) = try Loopback.listen()
        Thread.detachNewThread { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                guard state.withLock(\.isOpen), let server = try? IdleClient(port: broker) else {
                    close(client)
                    continue
                }
                state.withLock { $0.descriptors += [client, server.descriptor] }
                pass(from: client, to: server.descriptor, keeping: server)
                pass(from: server.descriptor, to: client, keeping: server)
            }
            close(listener)
        }
    }

    /// `mqtt://127.0.0.1:PORT`.
    var url: String { "mqtt://127.0.0.1:\(port)" }

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

    private func pass(from source: Int32, to sink: Int32, keeping server: IdleClient) {
        Thread.detachNewThread {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(source, &bytes, bytes.count), count > 0 {
                guard send(sink, bytes, count, Int32(MSG_NOSIGNAL)) == count else { break }
            }
            shutdown(sink, Int32(SHUT_RDWR))
            withExtendedLifetime(server) {}
        }
    }
}
