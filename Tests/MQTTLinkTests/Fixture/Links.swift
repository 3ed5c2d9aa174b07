import MQTTLink
import TestSupport

extension MQTTLinkConfiguration {
    /// A configuration that comes back fast, for tests.
    ///
    /// Nothing ends it by its time: on a machine that is busy a test may go on minutes after what it waited for.
    static func test(
        _ broker: TestBroker, id: String = "link", subscriptions: [Subscription] = [],
        _ change: (inout MQTTLinkConfiguration) -> Void = { _ in }
    ) throws -> MQTTLinkConfiguration {
        try test(url: broker.url, id: id, subscriptions: subscriptions, change)
    }

    static func test(
        url: String, id: String = "link", subscriptions: [Subscription] = [],
        _ change: (inout MQTTLinkConfiguration) -> Void = { _ in }
    ) throws -> MQTTLinkConfiguration {
        var configuration = MQTTLinkConfiguration(
            brokers: [try BrokerURL(url)], clientID: id, subscriptions: subscriptions)
        configuration.reconnect.first = .milliseconds(20)
        configuration.reconnect.longest = .milliseconds(200)
        configuration.keepAlive = .seconds(600)
        configuration.connectTimeout = .seconds(600)
        configuration.subscribeTimeout = .seconds(600)
        change(&configuration)
        return configuration
    }
}

/// A link and its recorder, started; stopped at the end of the closure.
@discardableResult
func withLink<Value>(
    _ configuration: MQTTLinkConfiguration, _ recorder: LinkRecorder = LinkRecorder(),
    _ body: (MQTTLink, LinkRecorder) async throws -> Value
) async throws -> Value {
    let link = MQTTLink(configuration: configuration, delegate: recorder)
    link.start()
    do {
        let value = try await body(link, recorder)
        await link.stop()
        return value
    } catch {
        await link.stop(within: .zero)
        throw error
    }
}

extension MQTTMessage {
    init(_ topic: String, _ text: String, qos: QoS = .atLeastOnce, retain: Bool = false) {
        self.init(topic: topic, payload: Array(text.utf8), qos: qos, retain: retain)
    }

    var text: String { String(decoding: payload, as: UTF8.self) }
}

extension OutgoingMessage {
    init(_ token: UInt64, _ topic: String, _ text: String, qos: QoS = .atLeastOnce, retain: Bool = false) {
        self.init(token: token, message: MQTTMessage(topic, text, qos: qos, retain: retain))
    }
}

extension MQTTLinkConfiguration.ProtocolVersion {
    var version: MQTTVersion { self == .v311 ? .v311 : .v5 }
}
