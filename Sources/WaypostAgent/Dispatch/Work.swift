import WaypostMessages

/// A stored command on its way through the dispatcher.
struct Work: Sendable {
    /// Its row in the inbox.
    var sequence: Int64
    var sender: String
    var address: ReplyAddress
    var command: Command
    /// When it must have been started, on the monotonic clock, in milliseconds.
    var startBy: Int64
    /// How often it was started before.
    var attempts: Int
    /// Whether it may run again after a crash in the middle.
    var isIdempotent: Bool
}
