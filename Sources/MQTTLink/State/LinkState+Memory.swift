extension LinkState.BrokerMemory {
    /// Whether another client with our id may have taken the session.
    ///
    /// MQTT 5 has a code for it, which mosquitto does not send. Without it: the broker closed in order, it knew our
    /// session, and no attempt failed since the last such end. One that restarts forgets the session, resets
    /// connections, or can't be reached for a while, and is not suspected.
    func looksTaken(_ cause: DisconnectReason.Cause) -> Bool {
        switch cause {
        case .sessionTakenOver: true
        case .closedByBroker: knewSession || takenSessions == 0
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
