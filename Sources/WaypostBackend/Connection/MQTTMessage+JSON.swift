package import MQTTLink
package import Waypost
import WaypostFleet

extension MQTTMessage {
    /// The payload as JSON; nil when it is none.
    package var json: JSONValue? { seen.json }

    /// As far as it tells something of the fleet.
    var seen: SeenMessage { SeenMessage(topic: topic, payload: payload, isRetained: retain) }

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
