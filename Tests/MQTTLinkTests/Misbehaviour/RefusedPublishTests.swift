import MQTTLink
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(60)))
struct RefusedPublishTests {
    /// A message whose PUBLISH has that many bytes on MQTT 5.
    private func message(ofSize size: Int, qos: QoS, properties: MQTTProperties) -> MQTTMessage {
        var message = MQTTMessage(topic: "a/b", payload: [], qos: qos, properties: properties)
        // The length field grows with the payload, so it takes a few steps.
        for _ in 0..<4 {
            let missing = size - FakeConnection.publish(message, id: 1).count
            message.payload = Array(repeating: 0x78, count: max(0, message.payload.count + missing))
        }
        return message
    }

    private static let allProperties = MQTTProperties(
        responseTopic: "reply/ops", correlationData: [0, 1, 255], messageExpiry: 600,
        contentType: "application/json", payloadIsUTF8: true,
        user: [MQTTProperties.User("traceparent", "00-ab-cd-01"), MQTTProperties.User("ä", "")])

    @Test(
        arguments: [UInt32(200), 40_000], [QoS.atMostOnce, .atLeastOnce])
    func `a packet of exactly the broker's limit is sent, and one that is a byte larger is not`(
        limit: UInt32, qos: QoS
    ) async throws {
        let broker = try FakeBroker { connection in
            // 0x27: maximum packet size.
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: limit >> (24 - 8 * $0)) }
            try connection.behave(version: try connection.accept(properties: [0x27] + bytes))
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url) { $0.protocolVersion = .v5 }) { link, recorder in
            let connection = try await recorder.connected()
            #expect(connection.maximumPacketSize == limit)
            var outgoing: [OutgoingMessage] = []
            for properties in [MQTTProperties(), Self.allProperties] {
                for excess in -1...5 {
                    let size = Int(limit) + excess
                    outgoing.append(
                        OutgoingMessage(
                            token: UInt64(size * 10) + (properties.isEmpty ? 0 : 1),
                            message: message(ofSize: size, qos: qos, properties: properties)))
                }
            }
            link.publish(outgoing)
            for receipt in try await recorder.settled(outgoing.count) {
                let isTooLarge = receipt.token / 10 > limit
                #expect(
                    receipt.result == (isTooLarge ? .rejected(.tooLarge) : .acknowledged),
                    "\(receipt.token / 10) bytes, limit \(limit)")
            }
            // What is behind them on the same connection says that the broker has them all.
            link.publish([OutgoingMessage(1, "end", "")])
            try await broker.log.wait(for: "the last message") { events in
                events.contains {
                    if case .packet(_, let packet) = $0 {
                        packet.type == 3 && packet.topic == "end"
                    } else {
                        false
                    }
                }
            }
            let sizes = broker.packets(on: 1).filter { $0.type == 3 && $0.topic != "end" }.map(\.size)
            #expect(sizes.sorted() == [Int(limit) - 1, Int(limit) - 1, Int(limit), Int(limit)])
            #expect(recorder.reasons.isEmpty)
        }
    }

    /// The reasons that a PUBACK may have (MQTT 5.0, 3.4.2.1).
    @Test(arguments: [UInt8(0x80), 0x83, 0x87, 0x90, 0x91, 0x97, 0x99])
    func `a PUBACK with a reason from 0x80 is a refusal with that reason`(code: UInt8) async throws {
        let broker = try FakeBroker { connection in
            try connection.behave(version: try connection.accept(), pubackReason: code)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url) { $0.protocolVersion = .v5 }) { link, recorder in
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "a", "x"), OutgoingMessage(2, "a", "y")])
            let receipts = try await recorder.settled(2)
            #expect(receipts.allSatisfy { $0.result == .refused(ReasonCode(rawValue: code)) }, "\(receipts)")
            #expect(recorder.reasons.isEmpty)
        }
    }

    /// These two are no reasons of a PUBACK: libmosquitto ends the connection, and what was under way is lost.
    @Test(arguments: [UInt8(0x89), 0x96])
    func `a PUBACK with a reason that it cannot have is not an acknowledgement`(code: UInt8) async throws {
        let broker = try FakeBroker { connection in
            try connection.behave(version: try connection.accept(), pubackReason: code)
        }
        defer { broker.end() }
        try await withLink(try .test(url: broker.url) { $0.protocolVersion = .v5 }) { link, recorder in
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "a", "x")])
            let result = try #require(try await recorder.settled(1).first).result
            #expect(result == .refused(ReasonCode(rawValue: code)) || result == .lost)
        }
    }
}
