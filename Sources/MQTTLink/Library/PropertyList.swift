import CMosquitto
import Glibc

/// A property list of libmosquitto's, freed when it goes.
struct PropertyList: ~Copyable {
    private(set) var head: OpaquePointer?
    /// The first thing that could not be added, by the library's code; such a list is not to be sent.
    private(set) var fault: Int32 = MOSQ_ERR_SUCCESS.rawValue

    init() {}

    deinit {
        var head = head
        mosquitto_property_free_all(&head)
    }

    /// Hands the list over to one who frees it.
    consuming func release() -> OpaquePointer? {
        let head = head
        discard self
        return head
    }

    mutating func add(_ id: Int32, byte: UInt8) {
        note(mosquitto_property_add_byte(&head, id, byte))
    }

    mutating func add(_ id: Int32, short: UInt16) {
        note(mosquitto_property_add_int16(&head, id, short))
    }

    mutating func add(_ id: Int32, word: UInt32) {
        note(mosquitto_property_add_int32(&head, id, word))
    }

    mutating func add(_ id: Int32, string: String) {
        note(Self.withWhole(string) { mosquitto_property_add_string(&head, id, $0) })
    }

    mutating func add(_ id: Int32, bytes: [UInt8]) {
        guard let count = UInt16(exactly: bytes.count) else { return note(MOSQ_ERR_PAYLOAD_SIZE.rawValue) }
        note(bytes.withUnsafeBytes { mosquitto_property_add_binary(&head, id, $0.baseAddress, count) })
    }

    mutating func add(_ id: Int32, name: String, value: String) {
        note(
            Self.withWhole(name) { name in
                Self.withWhole(value) { mosquitto_property_add_string_pair(&head, id, name, $0) }
            })
    }

    /// Calls `body` with a C string, unless a NUL would cut it over there, or the length field of 16 bits.
    ///
    /// The string itself is lent: as an argument it would be copied first.
    private static func withWhole(_ text: String, _ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
        text.withCString {
            let count = strlen($0)
            return count == text.utf8.count && count <= 65_535 ? body($0) : MOSQ_ERR_MALFORMED_UTF8.rawValue
        }
    }

    private mutating func note(_ code: Int32) {
        if fault == MOSQ_ERR_SUCCESS.rawValue { fault = code }
    }
}

extension PropertyList {
    /// The properties of a PUBLISH or a will; the texts come from outside, so look at `fault` afterwards.
    init(_ properties: MQTTProperties, willDelay: UInt32? = nil) {
        self.init()
        if let topic = properties.responseTopic { add(MQTT_PROP_RESPONSE_TOPIC.id, string: topic) }
        if let data = properties.correlationData { add(MQTT_PROP_CORRELATION_DATA.id, bytes: data) }
        if let expiry = properties.messageExpiry { add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.id, word: expiry) }
        if let type = properties.contentType { add(MQTT_PROP_CONTENT_TYPE.id, string: type) }
        if properties.payloadIsUTF8 { add(MQTT_PROP_PAYLOAD_FORMAT_INDICATOR.id, byte: 1) }
        for pair in properties.user { add(MQTT_PROP_USER_PROPERTY.id, name: pair.name, value: pair.value) }
        if let willDelay { add(MQTT_PROP_WILL_DELAY_INTERVAL.id, word: willDelay) }
    }
}

extension mqtt5_property {
    var id: Int32 { Int32(rawValue) }
}
