import MQTTLink
import Waypost
import WaypostMessages

/// Where the reply to a command goes and what is returned with it.
struct ReplyAddress: Sendable, Hashable {
    /// The topic, always under the agent's own `reply/`.
    var topic: String
    /// MQTT 5 correlation data, returned as it came.
    var correlation: [UInt8]?
    /// The command's `traceparent`, when it has the form of one.
    var trace: String?

    /// The properties as they are stored with the command; nil when there is nothing beyond the usual topic.
    func stored(unless usual: String) -> [UInt8]? {
        guard topic != usual || correlation != nil || trace != nil else { return nil }
        var json = JSONWriter()
        json.beginObject()
        json.member("topic", topic)
        if let correlation {
            json.member("correlation", JSONValue.array(correlation.map { .int(Int64($0)) }))
        }
        if let trace { json.member("trace", trace) }
        json.endObject()
        return json.bytes
    }

    init(topic: String, correlation: [UInt8]? = nil, trace: String? = nil) {
        self.topic = topic
        self.correlation = correlation
        self.trace = trace.flatMap { TraceParent.isValid($0) ? $0 : nil }
    }

    init(stored: [UInt8]?, usual: String) {
        let json = stored.flatMap { try? JSONValue(parsing: $0, limits: .trustedFile) }
        topic = json?["topic"]?.stringValue ?? usual
        correlation = json?["correlation"]?.arrayValue?.compactMap {
            $0.intValue.flatMap(UInt8.init(exactly:))
        }
        trace = json?["trace"]?.stringValue
    }

    func message(_ payload: [UInt8]) -> MQTTMessage {
        var properties = MQTTProperties()
        properties.correlationData = correlation
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        if let trace { properties.user = [MQTTProperties.User(TraceParent.property, trace)] }
        return MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, properties: properties)
    }
}
