import Glibc
import MQTTLink
import TestSupport

/// The broker's end of one connection, with blocking reads and writes.
struct FakeConnection: Sendable {
    let socket: Int32
    let tls: FakeTLS.Session?
    let number: Int
    let log: EventLog<FakeBroker.Event>

    struct Closed: Error {}

    // MARK: Reading

    func readByte() throws -> UInt8 {
        var byte: UInt8 = 0
        let count = tls.map { $0.read(&byte) } ?? recv(socket, &byte, 1, 0)
        guard count == 1 else { throw Closed() }
        return byte
    }

    func readPacket() throws -> Packet {
        let first = try readByte()
        var length = 0
        var shift = 0
        while true {
            let byte = try readByte()
            length |= Int(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 == 0 { break }
        }
        var body: [UInt8] = []
        for _ in 0..<length { body.append(try readByte()) }
        let packet = Packet(type: first >> 4, flags: first & 15, body: body)
        log.append(.packet(connection: number, packet))
        return packet
    }

    /// Reads until the client goes.
    func readToEnd() throws {
        while true { _ = try readPacket() }
    }

    /// Waits for the first bytes that are for the other layer: a ClientHello, say.
    func readAnything() throws {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        guard recv(socket, &buffer, buffer.count, 0) > 0 else { throw Closed() }
    }

    // MARK: Ending

    /// Says that no more will come, and waits until the client has gone.
    func closeAndWait() throws {
        shutdown(socket, Int32(SHUT_WR))
        while true { try readAnything() }
    }

    /// The connection will be reset when the script is over.
    func resetAtEnd() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    // MARK: Writing

    func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { part in
                tls.map { $0.write(part) }
                    ?? Glibc.send(socket, part.baseAddress, part.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Closed() }
            sent += count
        }
    }

    func send(type: UInt8, flags: UInt8 = 0, _ body: [UInt8]) throws {
        try write([type << 4 | flags] + Self.length(body.count) + body)
    }

    static func length(_ count: Int) -> [UInt8] {
        var rest = count
        var bytes: [UInt8] = []
        repeat {
            bytes.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return bytes
    }

    static func text(_ text: String) -> [UInt8] {
        [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 0xFF)] + Array(text.utf8)
    }

    // MARK: Saying what a broker says

    /// Reads the CONNECT and answers it; the version it was for.
    @discardableResult
    func accept(sessionPresent: Bool = false, properties: [UInt8] = []) throws -> UInt8 {
        let connect = try readPacket()
        try connack(0, connect.version, sessionPresent: sessionPresent, properties: properties)
        return connect.version
    }

    func connack(
        _ code: UInt8, _ version: UInt8, sessionPresent: Bool = false, properties: [UInt8] = []
    ) throws {
        let tail = version == 5 ? Self.length(properties.count) + properties : []
        try send(type: 2, [sessionPresent ? 1 : 0, code] + tail)
    }

    /// Reads a SUBSCRIBE and answers it.
    func suback(_ code: UInt8, version: UInt8) throws {
        let packet = try readPacket()
        try send(type: 9, Array(packet.body[0..<2]) + (version == 5 ? [0] : []) + [code])
    }

    /// A PUBLISH; at most once when its id is 0.
    static func publish(
        _ topic: String, _ payload: [UInt8], id: UInt16, version: UInt8, isDuplicate: Bool = false
    ) -> [UInt8] {
        let id = id == 0 ? [] : [UInt8(id >> 8), UInt8(id & 0xFF)]
        let body = text(topic) + id + (version == 5 ? [0] : []) + payload
        return [0x30 | (id.isEmpty ? 0 : 2) | (isDuplicate ? 8 : 0)] + length(body.count) + body
    }

    /// A PUBLISH of MQTT 5 with all its properties, written after the standard (MQTT 5.0, 3.3).
    static func publish(_ message: MQTTMessage, id: UInt16) -> [UInt8] {
        let from = message.properties
        var properties: [UInt8] = []
        if from.payloadIsUTF8 { properties += [0x01, 1] }
        if let expiry = from.messageExpiry {
            properties += [0x02] + (0..<4).map { UInt8(truncatingIfNeeded: expiry >> (24 - 8 * $0)) }
        }
        if let type = from.contentType { properties += [0x03] + text(type) }
        if let topic = from.responseTopic { properties += [0x08] + text(topic) }
        if let data = from.correlationData {
            properties += [0x09, UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data
        }
        for pair in from.user { properties += [0x26] + text(pair.name) + text(pair.value) }
        let body =
            text(message.topic) + (message.qos == .atMostOnce ? [] : [UInt8(id >> 8), UInt8(id & 0xFF)])
            + length(properties.count) + properties + message.payload
        return [0x30 | message.qos.rawValue << 1] + length(body.count) + body
    }

    /// Answers SUBSCRIBE, PUBLISH and PINGREQ as it should, until the client goes.
    func behave(version: UInt8, pubackReason: UInt8? = nil) throws {
        while true {
            let packet = try readPacket()
            switch packet.type {
            case 8: try send(type: 9, Array(packet.body[0..<2]) + (version == 5 ? [0] : []) + [1])
            case 3 where packet.flags & 6 != 0:
                let topic = Int(packet.body[0]) << 8 | Int(packet.body[1])
                let id = Array(packet.body[(2 + topic)..<(4 + topic)])
                try send(type: 4, id + (pubackReason.map { [$0] } ?? []))
            case 12: try send(type: 13, [])
            case 14: throw Closed()
            default: break
            }
        }
    }
}
