import TestSupport
import Testing

@testable import MQTTLink

/// A broker that takes a message and loses its PUBACK.
@Suite(.timeLimit(.minutes(60)))
struct LostAcknowledgementTests {
    /// Acknowledges all but the messages on `lost`, and those too from the second connection on.
    private func broker() throws -> FakeBroker {
        try FakeBroker { connection in
            try connection.accept()
            while true {
                let packet = try connection.readPacket()
                switch packet.type {
                case 3 where connection.number > 1 || packet.topic != "lost":
                    let topic = 2 + packet.topic.utf8.count
                    try connection.send(type: 4, Array(packet.body[topic..<(topic + 2)]))
                case 12: try connection.send(type: 13, [])
                case 14: throw FakeConnection.Closed()
                default: break
                }
            }
        }
    }

    // It took its place in the window for good; after two hundred nothing left any more.
    @Test func `ends the connection with its reason, whatever else is acknowledged meanwhile`() async throws {
        let broker = try broker()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(url: broker.url) {
            $0.acknowledgeTimeout = .milliseconds(500)
        }
        try await withLink(configuration) { link, recorder in
            try await recorder.connected()
            link.publish([OutgoingMessage(1, "lost", "a")])
            // Traffic that is acknowledged, until the connection has gone.
            var token: UInt64 = 2
            while recorder.reasons.isEmpty {
                let before = recorder.receipts.count
                link.publish([OutgoingMessage(token, "other", "b")])
                token += 1
                try await recorder.settled(before + 1)
            }
            let reason = try await recorder.disconnected()
            #expect(reason.cause == .unacknowledged(after: .milliseconds(500)))
            #expect(reason.description.contains("did not acknowledge a message within 0.5 s"))
            #expect(recorder.receipts.contains { $0.token == 1 && $0.result == .lost })
            #expect(recorder.receipts.contains { $0.token > 1 && $0.result == .acknowledged })
            // Who sent it sends it again.
            try await recorder.connectedAgain()
            link.publish([OutgoingMessage(1, "lost", "a")])
            try await recorder.log.wait(for: "the acknowledgement") { events in
                events.flatMap(\.receipts).contains { $0.token == 1 && $0.result == .acknowledged }
            }
        }
    }

    @Test func `the limit is twice the keepalive, and at least a minute`() throws {
        var configuration = MQTTLinkConfiguration(
            brokers: [try BrokerURL("mqtt://localhost")], clientID: "a", subscriptions: [])
        #expect(configuration.acknowledgeWithin == .seconds(60))
        configuration.keepAlive = .seconds(300)
        #expect(configuration.acknowledgeWithin == .seconds(600))
    }
}
