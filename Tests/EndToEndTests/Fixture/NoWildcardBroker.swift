import Foundation
import TestSupport
import Waypost
import WaypostMessages

/// A broker for one client that gives subscriptions with wildcards no retained message, as RabbitMQ does, with an
/// agent k1 behind it that answers pings.
final class NoWildcardBroker: Sendable {
    private let server: LoopbackServer

    /// - Parameter delay: Seconds that it takes to answer the first subscription of a client, as NATS may.
    init(subscribingTakes delay: UInt32 = 0) throws {
        server = try LoopbackServer { client in
            var delay = delay
            while Self.answerPacket(of: client, &delay) {}
        }
    }

    /// `mqtt://127.0.0.1:PORT`.
    var url: String { server.url }

    /// Answers one packet of MQTT 5; false at the end.
    private static func answerPacket(of client: PlainSocket, _ delay: inout UInt32) -> Bool {
        guard let type = read(1, of: client)?.first else { return false }
        var (length, shift) = (0, 0)
        while true {
            guard let byte = read(1, of: client)?.first else { return false }
            length |= Int(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 == 0 { break }
        }
        guard let body = read(length, of: client) else { return false }
        switch type >> 4 {
        case 1: return send([0x20, 3, 0, 0, 0], to: client)
        case 3:
            let topicEnd = 2 + (Int(body[0]) << 8 | Int(body[1]))
            let sender = String(decoding: body[2..<topicEnd], as: UTF8.self).split(separator: "/").last ?? ""
            guard let start = body[topicEnd...].firstIndex(of: UInt8(ascii: "{")),
                let id = (try? JSONValue(parsing: Array(body[start...])))?["id"]?.stringValue
            else { return false }
            let reply = Reply(id: id, code: .ok, at: Int64(Date().timeIntervalSince1970 * 1_000)).encoded()
            return send([0x40, 2] + body[topicEnd..<topicEnd + 2], to: client)
                && send(publish("waypost/v1/k1/reply/\(sender)", reply, isRetained: false), to: client)
        case 8:
            sleep(delay)
            delay = 0
            // Behind the packet id and the properties, each filter has its length before and a byte behind it.
            var (place, filters) = (3 + Int(body[2]), [String]())
            while place + 2 < body.count {
                let end = place + 2 + (Int(body[place]) << 8 | Int(body[place + 1]))
                filters.append(String(decoding: body[place + 2..<end], as: UTF8.self))
                place = end + 1
            }
            let answer =
                [0x90, UInt8(3 + filters.count), body[0], body[1], 0] + filters.map { _ in UInt8(1) }
            let state =
                #"{"state":"online","epoch":1,"boot":"B","why":"birth","agent":"k1","version":"1","mqtt":5}"#
            let topic = "waypost/v1/k1/state"
            return send(answer, to: client)
                && (!filters.contains(topic)
                    || send(publish(topic, Array(state.utf8), isRetained: true), to: client))
        case 12: return send([0xD0, 0], to: client)
        case 14: return false
        default: return true
        }
    }

    private static func publish(_ topic: String, _ payload: [UInt8], isRetained: Bool) -> [UInt8] {
        let body = [0, UInt8(topic.utf8.count)] + topic.utf8 + [0] + payload
        return [isRetained ? 0x31 : 0x30, UInt8(body.count & 0x7F | 0x80), UInt8(body.count >> 7)] + body
    }

    private static func read(_ count: Int, of client: PlainSocket) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return count == 0 || recv(client.descriptor, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
    }

    private static func send(_ bytes: [UInt8], to client: PlainSocket) -> Bool {
        client.send(bytes[...])
    }
}
