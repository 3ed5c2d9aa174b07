/// How often a message may arrive.
///
/// There is no level 2 here: libmosquitto 2.0.11 delivers the old payload again when a packet id is reused
/// after a reconnect, so exactly once is made one floor up, from level 1 and a stored id.
public enum QoS: UInt8, Sendable, Hashable {
    /// At most once; nothing is acknowledged.
    case atMostOnce = 0
    /// At least once; stored by the receiver before it is acknowledged.
    case atLeastOnce = 1
}

/// One message on a topic, as it is published or as it arrived.
public struct MQTTMessage: Sendable, Hashable {
    /// The topic's name, without wildcards.
    public var topic: String
    /// The payload as it is on the wire.
    public var payload: [UInt8]
    /// The level it is sent at, or arrived with.
    public var qos: QoS
    /// Outgoing: the broker keeps it for later subscribers; incoming: it was kept, and is not new.
    public var retain: Bool
    /// Incoming: the broker may have sent it before (DUP); it has no meaning on outgoing ones.
    public var isDuplicate: Bool
    /// MQTT 5 properties; on 3.1.1 they are not sent, and those of an incoming message are empty.
    public var properties: MQTTProperties

    /// A message; at least once and not retained unless said otherwise.
    public init(
        topic: String, payload: [UInt8], qos: QoS = .atLeastOnce, retain: Bool = false,
        isDuplicate: Bool = false, properties: MQTTProperties = MQTTProperties()
    ) {
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.isDuplicate = isDuplicate
        self.properties = properties
    }
}

/// A message that was too large to be read; only its header was kept.
public struct SkippedMessage: Sendable, Hashable {
    /// The topic, as far as it is text.
    public var topic: String
    /// The bytes of the whole packet.
    public var bytes: Int
    /// The largest packet that is read.
    public var limit: Int
    /// The level it came with.
    public var qos: QoS

    /// A message that was skipped; for tests that play a link.
    public init(topic: String, bytes: Int, limit: Int, qos: QoS = .atLeastOnce) {
        self.topic = topic
        self.bytes = bytes
        self.limit = limit
        self.qos = qos
    }
}
