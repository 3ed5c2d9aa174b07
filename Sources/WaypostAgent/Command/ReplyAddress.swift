import MQTTLink
import WaypostMessages
import WaypostSpans

/// Where the reply to a command goes and what is returned with it.
struct ReplyAddress: Sendable, Hashable {
    /// The sender's own topic under the agent's `reply/`.
    var topic: String
    /// MQTT 5 correlation data, returned as it came.
    var correlation: [UInt8]?
    /// The command's `traceparent`, a valid one.
    var trace: String?
    /// The `tracestate` beside it, a valid one.
    var traceState: String?

    init(
        topic: String, correlation: [UInt8]? = nil, trace: String? = nil, traceState: String? = nil
    ) {
        self.topic = topic
        self.correlation = correlation
        self.trace = TraceParent.valid(trace)
        self.traceState = TraceState.valid(traceState)
    }

    /// The same with the agent's place in the trace, where it has one.
    func within(_ trace: TraceCarrier?) -> ReplyAddress {
        guard let trace, let parent = trace.parent else { return self }
        return ReplyAddress(topic: topic, correlation: correlation, trace: parent, traceState: trace.state)
    }

    /// A reply to the command, which is not stored.
    func message(_ reply: Reply) -> MQTTMessage {
        var reply = reply
        reply.trace = trace
        return message(reply.encoded())
    }

    /// A stored reply to an earlier command with the same id, whose trace it has.
    func message(repeating stored: [UInt8]) -> MQTTMessage {
        var address = self
        address.trace = Reply.trace(of: stored)
        return address.message(Reply.duplicate(of: stored))
    }

    /// A reply as it was stored.
    func message(_ payload: [UInt8]) -> MQTTMessage {
        var properties = MQTTProperties()
        properties.correlationData = correlation
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        if let trace {
            properties.user = [MQTTProperties.User(TraceParent.property, trace)]
            if let traceState { properties.user.append(MQTTProperties.User(TraceState.property, traceState)) }
        }
        return MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, properties: properties)
    }
}
