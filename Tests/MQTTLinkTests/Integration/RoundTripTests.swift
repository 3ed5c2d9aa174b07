import MQTTLink
import TestSupport
import Testing

@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RoundTripTests {
    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `what is published arrives, and the publisher gets a receipt`(
        version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let configuration = try MQTTLinkConfiguration.test(broker, subscriptions: [Subscription("a/+")]) {
            $0.protocolVersion = version
        }
        try await withLink(configuration) { link, recorder in
            let connection = try await recorder.connected()
            #expect(connection.version == version.version)
            #expect(connection.subscriptions.map(\.isGranted) == [true])
            link.publish([
                OutgoingMessage(7, "a/b", "one"), OutgoingMessage(8, "a/c", "two", qos: .atMostOnce),
            ])
            let messages = try await recorder.received(2)
            #expect(messages.map(\.topic) == ["a/b", "a/c"])
            #expect(messages.map(\.text) == ["one", "two"])
            #expect(messages.map(\.qos) == [.atLeastOnce, .atMostOnce])
            let receipts = try await recorder.settled(2)
            #expect(Set(receipts.map(\.token)) == [7, 8])
            #expect(receipts.allSatisfy { $0.result == .acknowledged })
        }
    }
}
