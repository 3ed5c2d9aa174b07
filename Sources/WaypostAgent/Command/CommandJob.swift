import Waypost
import WaypostMessages

/// A command on its way through execution; it is stored, or will be.
struct CommandJob: Sendable {
    /// Its row in the inbox, which may not be there yet.
    var sequence: Int64
    var sender: String
    var address: ReplyAddress
    var command: Command
    /// When it must have been started, on the monotonic clock, in milliseconds.
    var startBy: Int64
    /// Which start this is, from 1: the agent may have ended while an earlier one ran.
    var attempt = 1
}

/// A command as far as intake could read it: it has an id and can be stored, also when it can't be run.
struct ReceivedCommand: Sendable {
    var topic: String
    var sender: String
    var id: String
    /// SHA-256 of the payload.
    var digest: [UInt8]
    var payload: [UInt8]
    var address: ReplyAddress
    /// The command, or why it is stored and answered without being run.
    var command: Result<Command, Rejection>
    /// Why it is not even stored, when its id is not known yet: retained, not signed, too fast.
    var rejection: Rejection?
    /// When it must have been started, in milliseconds since 1970.
    var expires: Int64
    /// Whether it must be on disk before it runs.
    var isStoredFirst: Bool
    /// How often it may have been started before it came.
    var earlierStarts: Int
}
