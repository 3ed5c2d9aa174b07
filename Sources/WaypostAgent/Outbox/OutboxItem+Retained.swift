import MQTTLink

extension OutboxItem {
    /// A retained document about the agent itself.
    static func retained(_ topic: String, _ payload: [UInt8]) -> OutboxItem {
        OutboxItem(origin: .volatile, kind: .presence, message: .retained(topic, payload))
    }
}

extension MQTTMessage {
    static func retained(_ topic: String, _ payload: [UInt8]) -> MQTTMessage {
        var properties = MQTTProperties()
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        return MQTTMessage(
            topic: topic, payload: payload, qos: .atLeastOnce, retain: true, properties: properties)
    }
}
