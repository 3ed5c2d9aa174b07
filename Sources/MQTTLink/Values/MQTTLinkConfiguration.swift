/// Everything a link needs to know.
public struct MQTTLinkConfiguration: Sendable {
    /// Which version is spoken.
    public enum ProtocolVersion: Sendable, Hashable {
        /// 5 first; 3.1.1 where 5 is refused or ended without an answer, remembered for a day; where 5 has worked before,
        /// an end without an answer is remembered for an hour.
        case automatic
        /// 5 or nothing.
        case v5
        /// 3.1.1 or nothing.
        case v311
    }

    /// What happens after a connection ended.
    public struct Reconnect: Sendable, Hashable {
        /// Whether it is tried again; without, each broker is tried once.
        public var isOn: Bool
        /// The upper end of the first delay; the delay itself is random between 0 and it (full jitter).
        public var first: Duration
        /// The upper end doubles up to this.
        public var longest: Duration
        /// A connection that held this long sets the delay back to the first.
        public var stableAfter: Duration

        /// 0.5 s, doubling to 60 s, set back after 30 s, unless said otherwise.
        public init(
            isOn: Bool = true, first: Duration = .milliseconds(500), longest: Duration = .seconds(60),
            stableAfter: Duration = .seconds(30)
        ) {
            self.isOn = isOn
            self.first = first
            self.longest = longest
            self.stableAfter = stableAfter
        }
    }

    /// The brokers, tried in turn.
    public var brokers: [BrokerURL]
    /// Whether the link goes back to the first broker once that is there again; off unless given.
    public var prefersFirstBroker: Bool
    /// How long it stays with another broker before it looks for the first one, 10 min unless given.
    public var returnAfter: Duration
    /// The id of the session that the broker keeps; not empty.
    public var clientID: String
    /// Name and password, if the broker wants them.
    public var credentials: Credentials?
    /// Files for TLS; without, an `mqtts` broker is checked against the system's trust store.
    public var tls: TLSOptions?
    /// A SOCKS5 proxy through which brokers are reached; none unless given.
    ///
    /// Through it MQTT 3.1.1 is spoken: libmosquitto leaves out the properties of a CONNECT there, without which a broker of
    /// MQTT 5 ends the session with the connection. A socket in the file system needs no proxy, and does without.
    public var proxy: ProxyURL?
    /// Which version is spoken; automatic unless given.
    public var protocolVersion: ProtocolVersion
    /// What an earlier link has learned of brokers that do not speak 5; see ``Connection/speaks311``.
    package var speaks311: [BrokerURL: VersionMemory] = [:]
    /// The longest silence of the broker, 30 s unless given, at least 5 s: libmosquitto refuses less.
    ///
    /// After half of it the broker is asked for a sign of life; after all of it the connection counts as broken.
    public var keepAlive: Duration
    /// How long the broker may take to acknowledge a message that was written; nil, unless given, for two keepalives
    /// and at least 60 s.
    ///
    /// Then the connection is given up, whatever else the broker acknowledges meanwhile: what was in flight has the
    /// receipt `lost`, so that its sender sends it again.
    public var acknowledgeTimeout: Duration?
    var acknowledgeWithin: Duration { acknowledgeTimeout ?? max(keepAlive * 2, .seconds(60)) }
    /// Seconds that the broker keeps the session while we are away (v5); a day unless given.
    public var sessionExpiry: UInt32
    /// Whether to begin without what the broker kept; off unless given.
    public var cleanStart: Bool
    /// How many unacknowledged messages the broker may have on the way to us (v5).
    public var receiveMaximum: UInt16
    /// The largest payload we take, in bytes, 1 MiB unless given; topic and properties may have 64 KiB beside it.
    ///
    /// A v5 broker keeps larger messages from us; others are skipped, see `MQTTLinkDelegate.link(skipped:)`.
    public var maximumPacketSize: UInt32
    /// How long name resolution, TCP, TLS and CONNACK may take together; 10 s unless given.
    public var connectTimeout: Duration
    /// How long the answers to the subscriptions may take; 10 s unless given.
    public var subscribeTimeout: Duration
    /// What happens after a connection ended.
    public var reconnect: Reconnect
    /// When subscriptions that the broker refused are tried again on the same connection.
    package var resubscribe: (first: Duration, longest: Duration)
    /// Subscribed to on every connect, also in a resumed session.
    public var subscriptions: [Subscription]
    /// Seconds between our silence and the will on v5; 5 unless given.
    ///
    /// A retained will is not delayed at a broker that would not keep it then: RabbitMQ 4, recognised by its CONNACK.
    public var willDelay: UInt32
    /// Our own limit of unacknowledged messages to the broker, 256 unless given; the broker's counts too.
    public var inFlightLimit: Int
    /// How many messages may wait for their turn, 10 000 unless given; what is more is rejected as `.overflow`.
    public var queueLimit: Int
    /// How many bytes of whole packets may wait, 64 MiB unless given.
    public var queueByteLimit: Int
    /// The most messages in one batch, 1 000 unless given.
    public var batchLimit: Int
    /// The bytes of whole packets after which a batch is handed on, 1 MiB unless given; the last one may exceed it.
    public var batchByteLimit: Int
    /// The longest time between two ticks, 5 s unless given.
    public var tickInterval: Duration

    /// A configuration with everything but the essentials at its default.
    public init(brokers: [BrokerURL], clientID: String, subscriptions: [Subscription] = []) {
        self.brokers = brokers
        prefersFirstBroker = false
        returnAfter = .seconds(600)
        self.clientID = clientID
        self.subscriptions = subscriptions
        proxy = nil
        protocolVersion = .automatic
        keepAlive = .seconds(30)
        sessionExpiry = 86_400
        cleanStart = false
        receiveMaximum = 1_000
        maximumPacketSize = 1 << 20
        connectTimeout = .seconds(10)
        subscribeTimeout = .seconds(10)
        reconnect = Reconnect()
        resubscribe = (.seconds(30), .seconds(600))
        willDelay = 5
        inFlightLimit = 256
        queueLimit = 10_000
        queueByteLimit = 64 << 20
        batchLimit = 1_000
        batchByteLimit = 1 << 20
        tickInterval = .seconds(5)
    }
}

/// That a broker is spoken to with 3.1.1, and for how long still.
package struct VersionMemory: Sendable, Hashable {
    package var left: Duration
    /// Whether 5 was met with silence, rather than with a refusal.
    package var wasSilent: Bool

    package init(left: Duration, wasSilent: Bool) { (self.left, self.wasSilent) = (left, wasSilent) }
}

extension MQTTLinkConfiguration {
    /// The largest packet that is read: a broker's own limit may be for the payload, and may count other properties.
    var packetLimit: Int { min(Int(maximumPacketSize) + 65_536 + 1_024, Int(UInt32.max)) }
}
