import MQTTLink
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
///
/// A class for the reason of ``CommandJob``.
final class ReceivedCommand: Sendable {
    let key: CommandKey
    let sender: String
    /// SHA-256 of the payload.
    let digest: [UInt8]
    let payload: [UInt8]
    let address: ReplyAddress
    /// The command, or why it is stored and answered without being run.
    let command: Result<Command, Rejection>
    /// Why it is not even stored, when its id is not known yet: retained, not signed, too fast.
    let rejection: Rejection?
    /// When it must have been started, in milliseconds since 1970.
    let expires: Int64
    /// Whether it must be on disk before it runs.
    let isStoredFirst: Bool
    /// How often it may have been started before it came.
    let earlierStarts: Int

    var topic: String { key.topic }
    var id: String { key.id }

    init(
        _ message: MQTTMessage, from sender: String, id: String, address: ReplyAddress,
        command: Result<Command, Rejection>, rejection: Rejection?, at now: Int64, isStoredFirst: Bool,
        earlierStarts: Int
    ) {
        key = CommandKey(topic: message.topic, id: id)
        payload = message.payload
        digest = SHA256.digest(of: message.payload)
        self.sender = sender
        self.address = address
        self.command = command
        self.rejection = rejection
        expires = (try? command.get().expires) ?? now
        self.isStoredFirst = isStoredFirst
        self.earlierStarts = earlierStarts
    }
}
