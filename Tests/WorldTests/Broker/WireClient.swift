import Glibc

@testable import World

/// One connection to a real broker, which says on the wire exactly what it is told to, and keeps what comes.
///
/// It blocks, each time until there is an answer or a minute has passed.
final class WireClient {
    struct Failure: Error, CustomStringConvertible { var description: String }

    /// What came of a message.
    struct Arrived: Equatable {
        var topic: String
        var payload: [UInt8]
        var qos: UInt8
        var retain: Bool
        var isDuplicate: Bool
        /// 0 at QoS 0.
        var id: UInt16
    }

    private enum Kind: UInt8 {
        case connect = 1, connack, publish, puback
        case subscribe = 8, suback, unsubscribe, unsuback, pingreq, pingresp, disconnect
    }

    private struct Packet {
        var kind: Kind
        var flags: UInt8
        var body: [UInt8]
    }

    private let socket: Int32
    private let speaks5: Bool
    private var buffer: [UInt8] = []
    private var nextID: UInt16 = 0
    private var arrived: [Arrived] = []
    /// Whether the broker still had a session.
    private(set) var hadSession = false

    init(_ name: String, _ connect: BrokerModel.Connect, port: UInt16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        speaks5 = connect.speaks5
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else { throw Failure(description: "connect: errno \(errno)") }
        try send(.connect, 0, connectBody(name, connect))
        let answer = try answer(.connack)
        guard answer.count > 1, answer[1] == 0 else {
            throw Failure(description: "\(name): CONNACK \(answer)")
        }
        hadSession = answer[0] & 1 == 1
    }

    deinit { close(socket) }

    // MARK: What it says

    private func connectBody(_ name: String, _ connect: BrokerModel.Connect) -> [UInt8] {
        var flags: UInt8 = connect.isClean ? 2 : 0
        if let will = connect.will {
            flags |= 4 | will.message.qos << 3 | (will.message.retain ? 0x20 : 0)
        }
        var body = text("MQTT") + [speaks5 ? 5 : 4, flags] + number16(0)
        if speaks5 {
            let expiry = connect.expiry.map { UInt32($0 / 1_000) } ?? .max
            body += properties([0x11] + number32(expiry) + [0x21] + number16(UInt16(connect.window)))
        }
        body += text(name)
        if let will = connect.will {
            if speaks5 { body += properties([0x18] + number32(UInt32(will.delay / 1_000))) }
            body +=
                text(will.message.topic) + number16(UInt16(will.message.payload.count)) + will.message.payload
        }
        return body
    }

    /// The level that was granted.
    func subscribe(_ filter: String, _ options: BrokerModel.Filter) throws -> UInt8 {
        var bits = options.qos
        if speaks5 {
            bits |=
                (options.noLocal ? 4 : 0) | (options.retainAsPublished ? 8 : 0) | options.retainHandling << 4
        }
        try send(.subscribe, 2, number16(newID()) + properties([]) + text(filter) + [bits])
        return try answer(.suback).last ?? 0x80
    }

    func unsubscribe(_ filter: String) throws {
        try send(.unsubscribe, 2, number16(newID()) + properties([]) + text(filter))
        _ = try answer(.unsuback)
    }

    /// Whether it was refused.
    ///
    /// - Parameter expiry: In seconds; only MQTT 5 has one.
    func publish(_ message: BrokerModel.Message, expiry: UInt32?) throws -> Bool {
        let id = message.qos > 0 ? number16(newID()) : []
        let about = properties(expiry.map { [0x02] + number32($0) } ?? [])
        try send(
            .publish, message.qos << 1 | (message.retain ? 1 : 0),
            text(message.topic) + id + about + message.payload)
        guard message.qos > 0 else { return false }
        let answer = try answer(.puback)
        return answer.count > 2 && answer[2] >= 0x80
    }

    func acknowledge(_ id: UInt16) throws { try send(.puback, 0, number16(id)) }

    func leave() throws { try send(.disconnect, 0, []) }

    /// What has come since, as far as the broker had sent it when it read this.
    func settle() throws -> [Arrived] {
        try send(.pingreq, 0, [])
        _ = try answer(.pingresp)
        defer { arrived = [] }
        return arrived
    }

    // MARK: The wire

    private func newID() -> UInt16 {
        nextID = nextID == .max ? 1 : nextID + 1
        return nextID
    }

    private func number16(_ value: UInt16) -> [UInt8] {
        [UInt8(value >> 8), UInt8(truncatingIfNeeded: value)]
    }

    private func number32(_ value: UInt32) -> [UInt8] {
        number16(UInt16(value >> 16)) + number16(UInt16(truncatingIfNeeded: value))
    }

    private func text(_ text: String) -> [UInt8] { number16(UInt16(text.utf8.count)) + text.utf8 }

    private func properties(_ bytes: [UInt8]) -> [UInt8] { speaks5 ? length(bytes.count) + bytes : [] }

    private func length(_ value: Int) -> [UInt8] {
        var (rest, bytes) = (value, [UInt8]())
        repeat {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return bytes
    }

    private func send(_ kind: Kind, _ flags: UInt8, _ body: [UInt8]) throws {
        let bytes = [kind.rawValue << 4 | flags] + length(body.count) + body
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(description: "send: errno \(errno)") }
            sent += count
        }
    }

    /// The body of the next packet of that kind; messages that come before it are kept.
    private func answer(_ kind: Kind) throws -> [UInt8] {
        while true {
            let packet = try read()
            if packet.kind == kind { return packet.body }
            guard packet.kind == .publish else {
                throw Failure(description: "\(packet.kind) in the place of \(kind)")
            }
            try keep(packet)
        }
    }

    private func keep(_ packet: Packet) throws {
        var rest = packet.body[...]
        func take(_ count: Int) throws -> [UInt8] {
            guard rest.count >= count else { throw Failure(description: "a message that is cut off") }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        func number() throws -> UInt16 { try take(2).reduce(0) { $0 << 8 | UInt16($1) } }
        let topic = try take(Int(number()))
        let qos = packet.flags >> 1 & 3
        let id = qos > 0 ? try number() : 0
        if speaks5 {
            let size = try take(1)[0]
            guard size < 0x80 else { throw Failure(description: "properties that are long") }
            _ = try take(Int(size))
        }
        arrived.append(
            Arrived(
                topic: String(decoding: topic, as: UTF8.self), payload: Array(rest), qos: qos,
                retain: packet.flags & 1 == 1, isDuplicate: packet.flags & 8 == 8, id: id))
    }

    private func read() throws -> Packet {
        while true {
            if let packet = take() { return packet }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else {
                throw Failure(description: "the connection ended: \(count), errno \(errno)")
            }
            buffer += bytes.prefix(count)
        }
    }

    private func take() -> Packet? {
        var (size, place) = (0, 1)
        while true {
            guard place < buffer.count, place < 5 else { return nil }
            size |= Int(buffer[place] & 0x7F) << (7 * (place - 1))
            place += 1
            if buffer[place - 1] & 0x80 == 0 { break }
        }
        guard buffer.count >= place + size, let kind = Kind(rawValue: buffer[0] >> 4) else { return nil }
        defer { buffer.removeFirst(place + size) }
        return Packet(kind: kind, flags: buffer[0] & 15, body: Array(buffer[place..<place + size]))
    }
}
