import CMosquitto
import Glibc

/// Reads a property list that libmosquitto owns.
///
/// Strings and data it hands out are malloc'd, and freed here.
struct PropertyReader {
    let head: OpaquePointer?

    func byte(_ property: mqtt5_property) -> UInt8? {
        var value: UInt8 = 0
        return mosquitto_property_read_byte(head, property.id, &value, false) == nil ? nil : value
    }

    func short(_ property: mqtt5_property) -> UInt16? {
        var value: UInt16 = 0
        return mosquitto_property_read_int16(head, property.id, &value, false) == nil ? nil : value
    }

    func word(_ property: mqtt5_property) -> UInt32? {
        var value: UInt32 = 0
        return mosquitto_property_read_int32(head, property.id, &value, false) == nil ? nil : value
    }

    func string(_ property: mqtt5_property) -> String? {
        head.flatMap { Self.string(at: $0, property.id) }
    }

    /// What a CONNACK says of its broker.
    func brokerFeatures() -> BrokerFeatures {
        var result = BrokerFeatures()
        if let qos = byte(MQTT_PROP_MAXIMUM_QOS) { result.maximumQoS = qos }
        result.retainAvailable = byte(MQTT_PROP_RETAIN_AVAILABLE) != 0
        result.wildcardsAvailable = byte(MQTT_PROP_WILDCARD_SUB_AVAILABLE) != 0
        result.sharedAvailable = byte(MQTT_PROP_SHARED_SUB_AVAILABLE) != 0
        result.topicAliasMaximum = short(MQTT_PROP_TOPIC_ALIAS_MAXIMUM) ?? 0
        result.sessionExpiry = word(MQTT_PROP_SESSION_EXPIRY_INTERVAL)
        result.serverKeepAlive = short(MQTT_PROP_SERVER_KEEP_ALIVE)
        result.assignedClientID = string(MQTT_PROP_ASSIGNED_CLIENT_IDENTIFIER)
        return result
    }

    /// Enough to see that correlation data has more than 256 bytes.
    private static let correlationLimit = 257

    /// The properties of a message, without user properties: no one reads them, and a message of 1 MiB may have so many
    /// that their copies would take a hundred times as much.
    func messageProperties() -> MQTTProperties {
        var result = MQTTProperties()
        var node = head
        while let property = node {
            // Reading starts at the node it is given, and the first with that id is the node itself.
            let id = mosquitto_property_identifier(property)
            switch id {
            case MQTT_PROP_RESPONSE_TOPIC.id: result.responseTopic = Self.string(at: property, id)
            case MQTT_PROP_CONTENT_TYPE.id: result.contentType = Self.string(at: property, id)
            case MQTT_PROP_CORRELATION_DATA.id:
                result.correlationData = Self.bytes(at: property, id, atMost: Self.correlationLimit)
            case MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.id:
                var value: UInt32 = 0
                if mosquitto_property_read_int32(property, id, &value, false) != nil {
                    result.messageExpiry = value
                }
            case MQTT_PROP_PAYLOAD_FORMAT_INDICATOR.id:
                var value: UInt8 = 0
                if mosquitto_property_read_byte(property, id, &value, false) != nil {
                    result.payloadIsUTF8 = value == 1
                }
            default: break
            }
            node = mosquitto_property_next(property)
        }
        return result
    }

    private static func string(at node: OpaquePointer, _ id: Int32) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard mosquitto_property_read_string(node, id, &text, false) != nil, let text else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    private static func bytes(at node: OpaquePointer, _ id: Int32, atMost limit: Int) -> [UInt8]? {
        var data: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        guard mosquitto_property_read_binary(node, id, &data, &count, false) != nil else { return nil }
        // An empty value has no memory.
        guard let data else { return [] }
        defer { free(data) }
        return [UInt8](UnsafeRawBufferPointer(start: data, count: min(Int(count), limit)))
    }
}
