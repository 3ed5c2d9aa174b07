import MQTTLink
import TestSupport
import Testing

/// What goes over the wire when a connection ended before a PUBACK; the wire protocol's page says it, too.
@Suite(.timeLimit(.minutes(60)))
struct ResentPublishTests {
    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `what is sent again in a resumed session is a new packet, in order, and only what the caller sends`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try FakeBroker { connection in
            let version = try connection.accept(sessionPresent: connection.number > 1)
            guard connection.number == 1 else { return try connection.behave(version: version) }
            var first = try connection.readPacket()
            // On a busy machine a ping may come before it.
            while first.type != 3 {
                try connection.send(type: 13, [])
                first = try connection.readPacket()
            }
            let topic = Int(first.body[1])
            try connection.send(type: 4, Array(first.body[(2 + topic)..<(4 + topic)]))
            _ = try connection.readPacket()
            _ = try connection.readPacket()
        }
        defer { broker.end() }
        let messages = ["a", "b", "c"].enumerated().map { OutgoingMessage(UInt64($0), $1, "x") }
        try await withLink(try .test(url: broker.url) { $0.protocolVersion = version }) { link, recorder in
            try await recorder.connected()
            link.publish(messages)
            let receipts = try await recorder.settled(3)
            #expect(receipts.map(\.token) == [0, 1, 2])
            #expect(receipts.map(\.result) == [.acknowledged, .lost, .lost])
            #expect(try await recorder.connected(times: 2).sessionPresent)
            link.publish(Array(messages.dropFirst()))
            #expect(try await recorder.settled(5).suffix(2).allSatisfy { $0.result == .acknowledged })
        }
        let sent = (1...2).map { broker.packets(on: $0).filter { $0.type == 3 } }
        #expect(sent.map { $0.map(\.topic) } == [["a", "b", "c"], ["b", "c"]])
        // QoS 1, and no DUP.
        #expect(sent.joined().allSatisfy { $0.flags == 2 })
        // Ids begin anew with the connection: b and c had 2 and 3 before.
        #expect(sent.map { $0.map(\.publishID) } == [[1, 2, 3], [1, 2]])
    }
}

extension Packet {
    /// The packet id of a PUBLISH at least once.
    fileprivate var publishID: UInt16 {
        let place = 2 + (Int(body[0]) << 8 | Int(body[1]))
        return UInt16(body[place]) << 8 | UInt16(body[place + 1])
    }
}
