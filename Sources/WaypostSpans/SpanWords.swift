package import Tracing
package import Waypost

/// The names of attributes: those of OpenTelemetry's conventions for messaging, and our own.
package enum SpanWords {
    package static let agent = "waypost.agent"
    package static let sender = "waypost.sender"
    package static let lane = "waypost.lane"
    package static let attempt = "waypost.attempt"
    package static let code = "waypost.code"
    /// A pattern, never a URL: that has values.
    package static let route = "waypost.route"
    package static let gate = "waypost.gate"
    package static let interceptor = "waypost.interceptor"
    /// How many agents of a group replied, and how many of those that are known did not.
    package static let replies = "waypost.replies"
    package static let silent = "waypost.silent"
    package static let hops = "waypost.hops"

    /// Those of a message on the topic of commands.
    ///
    /// - Parameter operation: `send` or `process`.
    package static func message(
        _ operation: String, _ id: String, of sender: String, to agent: String, root: String
    ) -> SpanAttributes {
        [
            "messaging.system": "mqtt", "messaging.operation.name": .string(operation),
            "messaging.operation.type": .string(operation),
            "messaging.destination.template": .string("\(root)/{agent}/cmd/{sender}"),
            "messaging.message.id": .string(id), Self.agent: .string(agent), Self.sender: .string(sender),
        ]
    }
}

extension Span {
    /// How it ended: the code, and the status of an error for what is none.
    package func ended(with code: Code) {
        attributes[SpanWords.code] = SpanAttribute.int64(Int64(code.number))
        guard code != .ok else { return }
        attributes["error.type"] = SpanAttribute.string(code.name)
        setStatus(SpanStatus(code: .error, message: code.name))
    }
}
