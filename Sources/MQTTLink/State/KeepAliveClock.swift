/// When the broker is asked for a sign of life, and when the connection counts as broken.
///
/// It is ours and not libmosquitto's: that one waits for two keepalives, and does not see what is read past it.
struct KeepAliveClock: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Sendable, Equatable {
        /// Send a PINGREQ.
        case ping
        /// Nothing came for a whole keepalive.
        case broken
    }

    let interval: Duration
    private var lastIn: Instant
    private var lastOut: Instant
    /// When a PINGREQ was sent that nothing has followed yet.
    private var pinged: Instant?

    init(interval: Duration, at now: Instant) {
        self.interval = interval
        (lastIn, lastOut) = (now, now)
    }

    /// Something was read.
    mutating func heard(at now: Instant) {
        lastIn = now
        pinged = nil
    }

    /// Something was written.
    mutating func sent(at now: Instant) { lastOut = now }

    /// When ``step(isBlocked:at:)`` wants to be called.
    var due: Instant {
        // After a sleep of the machine, too, the broker has half a keepalive to answer.
        guard let pinged else { return min(lastIn, lastOut) + interval / 2 }
        return max(lastIn + interval, pinged + interval / 2)
    }

    /// - Parameter isBlocked: whether the ping may wait behind a large message; then it has another keepalive.
    mutating func step(isBlocked: Bool, at now: Instant) -> Step? {
        guard now >= due else { return nil }
        if pinged != nil {
            if !isBlocked || now >= lastIn + interval * 2 { return .broken }
            pinged = now
            return nil
        }
        (pinged, lastOut) = (now, now)
        return .ping
    }
}
