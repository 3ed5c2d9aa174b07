import MQTTLink
import Synchronization
import TestSupport
import Testing

/// What a delegate sends with the CONNECT.
@Suite(.aFewAtATime, .timeLimit(.minutes(60))) struct ConnectMessagesTests {
    /// Can store nothing, and says so with each CONNECT.
    private final class Refusing: MQTTLinkDelegate {
        private let connects = Mutex(0)

        func linkMessagesWithConnect() -> [MQTTMessage] {
            let number = connects.withLock { number in
                number += 1
                return number
            }
            return [MQTTMessage(topic: "out", payload: Array("\(number)".utf8), qos: .atLeastOnce)]
        }
        func linkDidConnect(_ connection: Connection) {}
        func link(received batch: [MQTTMessage]) -> BatchDecision { .refuse }
        func link(settled receipts: [PublishReceipt]) {}
        func linkDidDisconnect(_ reason: DisconnectReason) {}
    }

    @Test(arguments: [MQTTLinkConfiguration.ProtocolVersion.v5, .v311])
    func `it arrives, though every connection is dropped for what the broker delivers first`(
        _ version: MQTTLinkConfiguration.ProtocolVersion
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let url = try BrokerURL(broker.url)
        let observer = try await MQTTSession.connect(
            .oneShot(brokers: [url], clientID: "observer"), within: .seconds(60))
        _ = try await observer.subscribe([Subscription("out")])
        var configuration = MQTTLinkConfiguration(
            brokers: [url], clientID: "full", subscriptions: [Subscription("in")])
        configuration.protocolVersion = version
        configuration.reconnect.first = .milliseconds(50)
        let delegate = Refusing()
        let link = MQTTLink(configuration: configuration, delegate: delegate)
        link.start()
        try await broker.waitForLog(containing: "Sending SUBACK to full")
        #expect(
            try await observer.publish(MQTTMessage(topic: "in", payload: [1], qos: .atLeastOnce))
                == .acknowledged)
        var seen: [String] = []
        for await message in observer.messages {
            seen.append(String(decoding: message.payload, as: UTF8.self))
            #expect(message.qos == .atMostOnce)
            if seen.count == 4 { break }
        }
        #expect(seen == ["1", "2", "3", "4"])
        await link.stop(within: .seconds(1))
        await observer.disconnect()
        withExtendedLifetime(delegate) {}
    }
}
