/// A version of the protocol.
public enum MQTTVersion: UInt8, Sendable, Hashable, CustomStringConvertible {
    /// MQTT 3.1.1.
    case v311 = 4
    /// MQTT 5.0.
    case v5 = 5

    /// The number people use: `5` or `3.1.1`.
    public var description: String { self == .v5 ? "5" : "3.1.1" }
}

/// What a broker granted when it accepted us.
public struct Connection: Sendable, Hashable {
    /// The broker.
    public var broker: BrokerURL
    /// The version spoken.
    public var version: MQTTVersion
    /// Whether 5 was tried before and refused.
    public var fellBack: Bool
    /// Whether the broker still had our session: subscriptions and messages kept while we were away.
    public var sessionPresent: Bool
    /// The answers to the subscriptions, in their order.
    public var subscriptions: [SubscriptionResult]
    /// How many unacknowledged messages the broker takes from us; 65 535 when it did not say.
    public var receiveMaximum: UInt16
    /// The largest packet the broker takes, in bytes, if it said so.
    public var maximumPacketSize: UInt32?
    /// The keepalive in force; a v5 broker may have set its own.
    public var keepAlive: Duration
    /// The broker's certificate, when the connection is secured.
    public var certificate: Certificate?
    /// What the broker said of itself.
    package var features = BrokerFeatures()
    /// Whether 5 was met with silence, rather than with a refusal.
    package var wasSilentOn5 = false
    /// For how long 3.1.1 is spoken; nil with 5, and where 3.1.1 was asked for.
    package var speaks311: VersionMemory?

    /// A connection; for tests that play a link.
    public init(
        broker: BrokerURL, version: MQTTVersion, fellBack: Bool = false, sessionPresent: Bool = false,
        subscriptions: [SubscriptionResult] = [], receiveMaximum: UInt16 = .max,
        maximumPacketSize: UInt32? = nil,
        keepAlive: Duration = .seconds(30), certificate: Certificate? = nil
    ) {
        self.broker = broker
        self.version = version
        self.fellBack = fellBack
        self.sessionPresent = sessionPresent
        self.subscriptions = subscriptions
        self.receiveMaximum = receiveMaximum
        self.maximumPacketSize = maximumPacketSize
        self.keepAlive = keepAlive
        self.certificate = certificate
    }
}
