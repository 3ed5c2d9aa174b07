import WaypostMessages

/// A stored command on its way through execution.
struct CommandJob: Sendable {
    /// Its row in the inbox.
    var sequence: Int64
    var sender: String
    var address: ReplyAddress
    var command: Command
    /// When it must have been started, on the monotonic clock, in milliseconds.
    var startBy: Int64
    /// Which start this is, from 1: the agent may have ended while an earlier one ran.
    var attempt = 1
}
