import MQTTLink

/// Which commands must be on disk before they run.
///
/// Until its PUBACK leaves the broker has a command, and sends it again after a crash; so it may run first. But one
/// that ends the agent would do that again and again: after a crash starts are counted, and the count is on disk.
struct CrashGuard: Sendable {
    /// After a crash the broker sends again what it had sent, as soon as there is a connection; in milliseconds.
    static let time: Int64 = 60_000

    private var isAfterCrash = true
    /// On the monotonic clock; nil while there was no connection.
    private var end: Int64?

    /// The agent stopped cleanly: no command was in flight.
    mutating func endedCleanly() { isAfterCrash = false }

    mutating func connected(at now: Int64) { end = end ?? now + Self.time }

    /// Whether a command must be on disk before it runs.
    ///
    /// One that came at most once is sent again by no broker.
    func storesFirst(_ message: MQTTMessage, at now: Int64) -> Bool {
        message.qos == .atMostOnce || isAfterCrash && (message.isDuplicate || now < end ?? .max)
    }

    /// Starts, before this run, that a command which is not on disk may have had.
    func earlierStarts(of message: MQTTMessage) -> Int { isAfterCrash && message.isDuplicate ? 1 : 0 }
}
