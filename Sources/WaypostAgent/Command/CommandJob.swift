import Waypost
import WaypostMessages

/// A command on its way through execution; it is stored, or will be.
///
/// A class, because it goes from one to the next and never changes: each copy would take all its parts along.
final class CommandJob: Sendable {
    /// Its row in the inbox, which may not be there yet.
    let sequence: Int64
    let sender: String
    let address: ReplyAddress
    let command: Command
    /// When it must have been started, on the monotonic clock, in milliseconds.
    let startBy: Int64
    /// Which start this is, from 1: the agent may have ended while an earlier one ran.
    let attempt: Int

    init(
        sequence: Int64, sender: String, address: ReplyAddress, command: Command, startBy: Int64,
        attempt: Int = 1
    ) {
        self.sequence = sequence
        self.sender = sender
        self.address = address
        self.command = command
        self.startBy = startBy
        self.attempt = attempt
    }
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
