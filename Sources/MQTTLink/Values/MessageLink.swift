/// What `MQTTLink` does for its owner; a test may put another in its place.
package protocol MessageLink: AnyObject, Sendable {
    /// Begins to connect; once.
    func start()

    /// Publishes messages in this order; each gets one receipt.
    func publish(_ messages: [OutgoingMessage])

    /// Subscribes to further filters, now and on every later connect.
    func subscribe(_ subscriptions: [Subscription]) async -> [SubscriptionResult]?

    /// Gives such filters up.
    func unsubscribe(_ filters: [String])

    /// Connects again, with these credentials and certificates.
    func renew(credentials: Credentials?, tls: TLSOptions?)

    /// Gives up memory that was only needed while there was more to do.
    func releaseMemory()

    /// Publishes the goodbyes after what waits, disconnects, and returns when that is done or the limit has passed.
    func stop(after goodbyes: [MQTTMessage], within limit: Duration) async
}
