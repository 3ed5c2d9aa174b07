import Threading

/// How long to wait before coming back to a broker that has ended the connection.
package struct ReconnectPause {
    /// A connection that lasted this long was a good one.
    private static let good = Duration.seconds(10)
    private static let first = Duration.milliseconds(200)
    private static let longest = Duration.seconds(5)

    /// What may be the cause when connections end soon, again and again.
    package static let hint =
        "the connection ends again and again: is another program signed in under the same user name? "
        + "Some brokers have one connection for each name"

    private var pause = first
    private var connected: ContinuousClock.Instant?
    /// Connections in a row that ended soon after they were made.
    private var shortConnections = 0
    /// Whether to say what may be the cause: at the third short connection, and not again before a good one.
    package private(set) var isHintDue = false

    package init() {}

    package mutating func connectionMade() { connected = MonotonicTime.instant }

    /// The connection ended, or none could be made; returns how long to wait now.
    package mutating func next() -> Duration {
        isHintDue = false
        if let connected {
            let wasGood = MonotonicTime.instant - connected >= Self.good
            shortConnections = wasGood ? 0 : shortConnections + 1
            isHintDue = shortConnections == 3
            if shortConnections <= 1 { pause = Self.first }
        }
        connected = nil
        defer { pause = min(pause * 2, Self.longest) }
        return pause
    }
}
