import Glibc
import Synchronization
import TestSupport
import Threading

/// A broker that does what its script says, however wrong: for what a real mosquitto never does.
///
/// Each connection has a thread with blocking reads and writes. `end` shuts all sockets down, and with them the threads.
final class FakeBroker: Sendable {
    enum Event: Sendable {
        case accepted(Int)
        case packet(connection: Int, Packet)
        case closed(Int)
    }

    let port: UInt16
    let log = EventLog<Event>()
    private let listener: Int32
    /// What is written to it opens the door.
    private let door: Int32
    private let open = Guarded<Set<Int32>>([])
    private let isEnded = Atomic(false)

    struct Failure: Error { var code: Int32 }

    /// - Parameters:
    ///   - tls: the server's certificate, for a broker that speaks TLS.
    ///   - isClosed: whether it lets nobody in before `letIn`. A connect then waits in TCP, as one over a slow network
    ///     does; the first connection is its own, which fills the only place in the queue.
    init(
        tls: FakeTLS? = nil, isClosed: Bool = false,
        _ script: @escaping @Sendable (FakeConnection) throws -> Void
    ) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard listener >= 0 else { throw Failure(code: errno) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, size) == 0 && listen(descriptor, isClosed ? 0 : 16) == 0
                    && getsockname(descriptor, pointer, &size) == 0
            }
        }
        guard isBound else { throw Failure(code: errno) }
        port = UInt16(bigEndian: address.sin_port)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(code: errno) }
        let (waits, queued) = (ends[0], isClosed ? try Self.connect(address) : -1)
        door = ends[1]
        if isClosed {
            // On a busy machine it takes a moment until the connection is in the queue, and only then is that full.
            var queue = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&queue, 1, -1)
        } else {
            letIn()
        }
        Self.thread { [self] in
            var number = 0
            var byte: UInt8 = 0
            _ = read(waits, &byte, 1)
            close(waits)
            if queued >= 0 { close(queued) }
            while true {
                let socket = accept(descriptor, nil, nil)
                guard socket >= 0 else {
                    // Here and nowhere else: the number may be another broker's at once, and this thread would take the
                    // connections of that one.
                    close(descriptor)
                    return
                }
                number += 1
                open.withLock { _ = $0.insert(socket) }
                log.append(.accepted(number))
                let connected = number
                Self.thread { [self] in
                    let session = tls?.accept(socket)
                    let connection = FakeConnection(socket: socket, tls: session, number: connected, log: log)
                    if tls == nil || session != nil { try? script(connection) }
                    session?.end()
                    open.withLock { sockets in
                        sockets.remove(socket)
                        close(socket)
                    }
                    log.append(.closed(connection.number))
                }
            }
        }
    }

    var url: String { "mqtt://127.0.0.1:\(port)" }
    var secureURL: String { "mqtts://127.0.0.1:\(port)" }

    /// The packets that came on a connection.
    func packets(on connection: Int) -> [Packet] {
        log.events.compactMap { event in
            if case .packet(connection, let packet) = event { packet } else { nil }
        }
    }

    func waitForEnd(of connection: Int) async throws {
        try await log.wait(for: "the end of connection \(connection)") { events in
            events.contains { if case .closed(connection) = $0 { true } else { false } }
        }
    }

    /// Accepts connections from now on.
    func letIn() {
        var byte: UInt8 = 1
        _ = write(door, &byte, 1)
    }

    private static func connect(_ address: sockaddr_in) throws -> Int32 {
        var address = address
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Failure(code: errno) }
        return descriptor
    }

    func end() {
        guard !isEnded.exchange(true, ordering: .relaxed) else { return }
        close(door)
        shutdown(listener, Int32(SHUT_RDWR))
        open.withLock { sockets in for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    private static func thread(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var id = pthread_t()
        let box = Unmanaged.passRetained(Box(body))
        let code = pthread_create(
            &id, nil,
            { context in
                if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
                return nil
            }, box.toOpaque())
        precondition(code == 0, "pthread_create: \(code)")
        pthread_detach(id)
    }
}

/// A control packet as it came.
struct Packet: Sendable {
    var type: UInt8
    var flags: UInt8
    var body: [UInt8]

    /// The packet id of a PUBACK or SUBSCRIBE.
    var id: UInt16 { UInt16(body[0]) << 8 | UInt16(body[1]) }
    /// The topic of a PUBLISH.
    var topic: String {
        String(decoding: body.dropFirst(2).prefix(Int(body[0]) << 8 | Int(body[1])), as: UTF8.self)
    }
    /// The bytes of the whole packet.
    var size: Int { 1 + FakeConnection.length(body.count).count + body.count }
    /// The version of a CONNECT: 4 or 5.
    var version: UInt8 { body[6] }
}
