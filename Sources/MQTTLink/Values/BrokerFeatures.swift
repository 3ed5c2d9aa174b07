/// What a broker says of itself in its CONNACK (MQTT 5.0, 3.2.2.3); on 3.1.1 it says nothing, and all is as it is without.
package struct BrokerFeatures: Sendable, Hashable {
    /// The highest QoS that it accepts.
    package var maximumQoS: UInt8 = 2
    /// Whether it keeps retained messages.
    package var retainAvailable = true
    /// Whether filters may have wildcards.
    package var wildcardsAvailable = true
    /// Whether subscriptions can be shared.
    package var sharedAvailable = true
    /// How many aliases of topics it takes from a client.
    package var topicAliasMaximum: UInt16 = 0
    /// Seconds that it keeps the session, where it named them: then they hold, whatever was asked for.
    package var sessionExpiry: UInt32?

    /// Seconds of silence after which it ends a connection, where it named them.
    package var serverKeepAlive: UInt16?
    /// The client id that it has given us in the place of ours.
    package var assignedClientID: String?

    package init() {}

    /// Whether it is one of those that publish a delayed will, and do not keep it: RabbitMQ 4 lets it wait in a queue,
    /// and from there it comes as a message that is not retained.
    ///
    /// It has no name in its CONNACK. No other broker is known that has neither QoS 2 nor shared subscriptions and names
    /// the session's expiry; one that has would only lose the delay.
    package var forgetsDelayedRetainedWills: Bool {
        maximumQoS == 1 && !sharedAvailable && sessionExpiry != nil
    }
}
