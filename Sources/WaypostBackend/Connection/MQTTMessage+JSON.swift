package import MQTTLink
package import Waypost
package import WaypostFleet

extension MQTTMessage {
    /// The payload as JSON; nil when it is none.
    package var json: JSONValue? { seen.json }

    /// As far as it tells something of the fleet.
    package var seen: SeenMessage { SeenMessage(topic: topic, payload: payload, isRetained: retain) }

    /// A message with a JSON payload, as the protocol's MQTT 5 mirror wants it marked.
    package static func json(
        _ topic: String, _ payload: [UInt8], retain: Bool = false,
        properties: MQTTProperties = MQTTProperties()
    ) -> MQTTMessage {
        var properties = properties
        properties.contentType = "application/json"
        properties.payloadIsUTF8 = true
        return MQTTMessage(topic: topic, payload: payload, retain: retain, properties: properties)
    }
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
