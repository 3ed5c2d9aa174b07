package import MQTTLink

extension MQTTMessage {
    /// A retained document about the agent itself.
    package static func retained(_ topic: String, _ payload: [UInt8]) -> MQTTMessage {
        var properties = MQTTProperties()
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        return MQTTMessage(
            topic: topic, payload: payload, qos: .atLeastOnce, retain: true, properties: properties)
    }
}
