/// What to do with the acknowledgements of a batch.
public enum BatchDecision: Sendable, Hashable {
    /// The batch is stored: send the PUBACKs.
    case acknowledge
    /// The batch could not be stored: close the connection, so that the broker delivers it again.
    case refuse
}

/// Receives what a link reads and reports.
///
/// All of it is called on the link's own thread, one call after another, and must return soon: as long as a call
/// lasts nothing is read or written. ``link(received:)`` and ``linkWillAcknowledge()`` may wait for a disk: the connection
/// is kept alive meanwhile. ``link(lends:)`` may give the thread to the delegate.
public protocol MQTTLinkDelegate: AnyObject, Sendable {
    /// A CONNECT of that version is about to be made; returns the will for it, if there must be one.
    func linkWillConnect(_ version: MQTTVersion) -> MQTTMessage?

    /// A CONNECT was made; returns what is sent with it, at QoS 0 whatever they say: on the broker before it delivers
    /// anything, and lost without a receipt when it refuses the CONNECT.
    ///
    /// (MQTT 5.0, 3.1.4: a client may send packets before the CONNACK.)
    func linkMessagesWithConnect() -> [MQTTMessage]

    /// The broker accepted us and has answered all subscriptions; from now on messages can be published.
    ///
    /// Messages of a resumed session may have been delivered before this.
    func linkDidConnect(_ connection: Connection)

    /// All messages that one turn found. No PUBACK of theirs leaves before ``linkWillAcknowledge()`` agrees as well.
    func link(received batch: [MQTTMessage]) -> BatchDecision

    /// Called after each batch, whatever was decided on it: work that it brought may be done here.
    ///
    /// The acknowledgements leave after this, together with what it publishes. It may take its time once
    /// ``ThreadLoan/keep()`` was called.
    func link(lends thread: ThreadLoan)

    /// The PUBACKs of what was received are about to leave; the last moment to make it durable, or to say no.
    func linkWillAcknowledge() -> BatchDecision

    /// A message was larger than `MQTTLinkConfiguration.maximumPacketSize`: it was read and thrown away, and is
    /// acknowledged.
    func link(skipped message: SkippedMessage)

    /// Subscriptions that the broker had refused were tried again; its answers are in the connection.
    func linkDidSubscribe(_ connection: Connection)

    /// A message is about to be published; returns user properties that MQTT 5 carries beside its own.
    func link(propertiesFor message: MQTTMessage) -> [MQTTProperties.User]

    /// What became of published messages, in the order in which it became known.
    func link(settled receipts: [PublishReceipt])

    /// A connection ended or could not be made.
    ///
    /// Called once per change: a broker that stays away for the same reason is reported the first time only.
    func linkDidDisconnect(_ reason: DisconnectReason)

    /// A further try failed for the reason that ``linkDidDisconnect(_:)`` reported; only the time of the next is new.
    func linkStillDisconnected(_ reason: DisconnectReason)

    /// Each turn of the loop, also while offline, and at least every `MQTTLinkConfiguration.tickInterval`.
    func linkTick()
}

extension MQTTLinkDelegate {
    /// No will.
    public func linkWillConnect(_ version: MQTTVersion) -> MQTTMessage? { nil }

    /// Nothing is done with it.
    public func link(lends thread: ThreadLoan) {}

    /// All that was received is stored by then.
    public func linkWillAcknowledge() -> BatchDecision { .acknowledge }

    /// Nothing is done about it.
    public func link(skipped message: SkippedMessage) {}

    /// Nothing is done about it.
    public func linkDidSubscribe(_ connection: Connection) {}

    /// No others.
    public func link(propertiesFor message: MQTTMessage) -> [MQTTProperties.User] { [] }

    /// Nothing but the CONNECT.
    public func linkMessagesWithConnect() -> [MQTTMessage] { [] }

    /// Nothing is done about it.
    public func linkStillDisconnected(_ reason: DisconnectReason) {}

    /// Nothing is watched.
    public func linkTick() {}
}

/// Makes the link of an owner: an `MQTTLink`, unless a test puts another in its place.
package typealias MakeLink = @Sendable (MQTTLinkConfiguration, any MQTTLinkDelegate) -> any MessageLink

/// What `MQTTLink` does for its owner; a test may put another in its place.
package protocol MessageLink: AnyObject, Sendable {
    /// Begins to connect; once.
    func start()

    /// Publishes messages in this order; each gets one receipt.
    func publish(_ messages: [OutgoingMessage])

    /// Subscribes to further filters, now and on every later connect.
    func subscribe(
        _ subscriptions: [Subscription]
    ) async throws(CancellationError) -> [SubscriptionResult]?

    /// Gives such filters up.
    func unsubscribe(_ filters: [String])

    /// Connects again, with these credentials and certificates.
    func renew(credentials: Credentials?, tls: TLSOptions?)

    /// Gives up memory that was only needed while there was more to do.
    func releaseMemory()

    /// Publishes the goodbyes after what waits, disconnects, and returns when that is done or the limit has passed.
    func stop(after goodbyes: [MQTTMessage], within limit: Duration) async
}
