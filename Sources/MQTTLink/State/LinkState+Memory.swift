extension LinkState {
    /// What is known of one broker.
    struct BrokerMemory: Sendable {
        /// 5 was refused, or 3.1.1 has worked where 5 was met with silence: not tried before this.
        var speaks311Until: Instant?
        /// 5 ended without a CONNACK: try 3.1.1 once.
        var maySpeak311 = false
        /// 3.1.1 has worked where 5 was met with silence, as at RabbitMQ before 3.13.
        var wasSilentOn5 = false
        /// 5 has worked there.
        var hasSpoken5 = false
        /// It keeps no retained will that is delayed.
        var forgetsDelayedWills = false
        var addressTurn = 0
        /// The last cause that was reported and when, until there is a connection.
        var reported: (cause: Cause, at: Instant)?
        /// The last request to stay away that was reported, until a session holds.
        var reportedRequest: Cause?
        /// Not tried before this.
        var notBefore: Instant?
        /// Sessions in a row that look as if another client took them.
        var takenSessions = 0
        /// When a second client was last reported, until a session holds.
        var conflictReported: Instant?
        /// Whether the broker knew the present session.
        var knewSession = false
        /// Whether it refused a subscription of the present session.
        var hasRefusedSubscription = false
    }
}

extension LinkState.BrokerMemory {
    /// Whether another client with our id may have taken the session.
    ///
    /// MQTT 5 has a code for it, which mosquitto does not send. Without it: the broker closed in order, it knew our
    /// session, and no attempt failed since the last such end. One that restarts forgets the session, resets
    /// connections, or can't be reached for a while, and is not suspected. Nor is one that refused a subscription
    /// before: RabbitMQ closes then, as when the node is down that has the client's queue.
    func looksTaken(_ cause: DisconnectReason.Cause) -> Bool {
        switch cause {
        case .sessionTakenOver: true
        case .closedByBroker: !hasRefusedSubscription && (knewSession || takenSessions == 0)
        default: false
        }
    }

    /// Whether a person must be informed: of another cause, and of the same one again after a while.
    func isNews(_ cause: LinkState.Cause, at now: LinkState.Instant) -> Bool {
        guard reportedRequest != cause else { return false }
        guard let reported, reported.cause == cause else { return true }
        return now - reported.at >= Self.silence
    }

    /// Whether a person was informed of the second client a moment ago.
    func isConflictKnown(at now: LinkState.Instant) -> Bool {
        conflictReported.map { now - $0 < Self.silence } ?? false
    }

    /// How long the same news is not repeated.
    private static var silence: Duration { .seconds(600) }
}
