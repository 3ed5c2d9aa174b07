package import Waypost

/// A message of the broker, as far as it tells something of the fleet.
package struct SeenMessage: Sendable {
    let topic: String
    let payload: [UInt8]
    /// Whether the broker had kept it: it says nothing of when.
    let isRetained: Bool

    package init(topic: String, payload: [UInt8], isRetained: Bool) {
        (self.topic, self.payload, self.isRetained) = (topic, payload, isRetained)
    }

    /// The payload as JSON; nil when it is none.
    package var json: JSONValue? { try? JSONValue(parsing: payload, limits: .shown) }
}

/// A payload from an agent as one line, with the agent's name in front.
package enum JSONLine {
    /// The object's own bytes, or the object written again when they hold a control character such as a line break;
    /// `json` is what they mean.
    package static func make(agent: String, payload: some Collection<UInt8>, _ json: JSONValue) -> [UInt8] {
        let isLine = payload.first == UInt8(ascii: "{") && !payload.contains { $0 < 0x20 }
        guard let members = json.objectValue, !members.isEmpty, members["agent"] == nil, isLine else {
            guard case .object(var members) = json else { return json.serialized() }
            members["agent"] = .string(agent)
            return JSONValue.object(members).serialized()
        }
        return Array("{\"agent\":\"\(agent)\",".utf8) + payload.dropFirst()
    }
}
