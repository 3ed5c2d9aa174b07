import Waypost
import WaypostMessages

/// A command that has an id and may be stored: its bytes are known, whether it can be run may not be.
struct Candidate: Sendable {
    var topic: String
    var sender: String
    var id: String
    var digest: [UInt8]
    var payload: [UInt8]
    var address: ReplyAddress
    /// The command, or why it is answered without being run.
    var command: Result<Command, Rejection>
    /// When it must have been started, in milliseconds since 1970.
    var expires: Int64
}
