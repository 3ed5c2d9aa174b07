import MQTTLink
import Threading

// What a link and a broker in memory say to each other, each in its own types.

extension MQTTMessage {
    init(_ delivery: BrokerModel.Delivery) {
        self.init(
            topic: delivery.message.topic, payload: delivery.message.payload,
            qos: delivery.message.qos == 0 ? .atMostOnce : .atLeastOnce, retain: delivery.message.retain,
            isDuplicate: delivery.isDuplicate)
    }
}

extension BrokerModel.Message {
    init(_ message: MQTTMessage) {
        self.init(
            topic: message.topic, payload: message.payload, qos: message.qos == .atMostOnce ? 0 : 1,
            retain: message.retain,
            expires: message.properties.messageExpiry.map {
                Int64(MonotonicTime.now / 1_000_000) + Int64($0) * 1_000
            })
    }
}

extension BrokerModel.Filter {
    init(_ subscription: Subscription) {
        self.init(
            qos: subscription.qos == .atMostOnce ? 0 : 1, noLocal: subscription.noLocal,
            retainHandling: subscription.skipsRetained ? 2 : 0)
    }
}
