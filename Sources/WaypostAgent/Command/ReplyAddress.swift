package import MQTTLink
import WaypostMessages

/// Where the reply to a command goes and what is returned with it.
package struct ReplyAddress: Sendable, Hashable {
    /// The sender's own topic under the agent's `reply/`.
    var topic: String
    /// MQTT 5 correlation data, returned as it came.
    var correlation: [UInt8]?
    /// The command's `traceparent`, when it has the form of one.
    var trace: String?

    package init(topic: String, correlation: [UInt8]? = nil, trace: String? = nil) {
        self.topic = topic
        self.correlation = correlation
        self.trace = trace.flatMap { TraceParent.isValid($0) ? $0 : nil }
    }

    package func message(_ payload: [UInt8]) -> MQTTMessage {
        var properties = MQTTProperties()
        properties.correlationData = correlation
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        if let trace { properties.user = [MQTTProperties.User(TraceParent.property, trace)] }
        return MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, properties: properties)
    }
}
