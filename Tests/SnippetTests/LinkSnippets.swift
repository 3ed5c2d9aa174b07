import MQTTLink
import Testing

@Suite struct `Snippets on the link` {
    // snippet
    final class Collector: MQTTLinkDelegate {
        func linkDidConnect(_ connection: Connection) {
            print("MQTT \(connection.version), session \(connection.sessionPresent ? "resumed" : "new")")
        }

        func link(received batch: [MQTTMessage]) -> BatchDecision {
            // Make the batch durable here, or in linkWillAcknowledge().
            .acknowledge
        }

        func link(settled receipts: [PublishReceipt]) {
            for receipt in receipts { print(receipt.token, receipt.result) }
        }

        func linkDidDisconnect(_ reason: DisconnectReason) {
            print(reason)
        }
    }

    func collectReplies(from broker: String, with collector: Collector) throws -> MQTTLink {
        var configuration = MQTTLinkConfiguration(
            brokers: [try BrokerURL(broker)], clientID: "collector",
            subscriptions: [Subscription("waypost/v1/+/reply/collector", qos: .atLeastOnce)])
        configuration.tls = TLSOptions(caFile: "/etc/collector/ca.crt")
        return MQTTLink(configuration: configuration, delegate: collector)
    }
    // end snippet

    @Test func `a link is made and connects to nothing`() throws {
        let collector = Collector()
        _ = try collectReplies(from: "mqtts://broker.example.com", with: collector)
        #expect(throws: BrokerURLError.self) { try collectReplies(from: "broker", with: collector) }
    }
}
