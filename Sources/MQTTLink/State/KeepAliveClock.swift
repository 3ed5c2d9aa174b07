/// When libmosquitto's keepalive wants to be looked at.
///
/// The library counts itself; this only keeps the loop asleep until its count can have a result, instead of
/// asking once a second.
struct KeepAliveClock: Sendable {
    typealias Instant = ContinuousClock.Instant

    private var interval: Duration
    private var lastIn: Instant
    private var lastOut: Instant
    private var lastCheck: Instant

    init(interval: Duration, at now: Instant) {
        self.interval = interval
        (lastIn, lastOut, lastCheck) = (now, now, now)
    }

    /// Something was read.
    mutating func heard(at now: Instant) { lastIn = now }
    /// Something was written.
    mutating func sent(at now: Instant) { lastOut = now }
    /// The library has looked.
    mutating func checked(at now: Instant) { lastCheck = now }

    /// A keepalive after the older of the last two signs; then each second, until there is a new one.
    ///
    /// The library's clock has whole seconds, so it may see the end of an interval a second later.
    var due: Instant { max(min(lastIn, lastOut) + interval, lastCheck + .seconds(1)) }
}
