import Waypost
import WaypostAgent
import WaypostMessages

/// An open, a call or a move that a simulated agent was sent.
struct SimulatedCommand: Sendable {
    /// What tells it from others that run.
    struct Key: Hashable, Sendable {
        var agent: Int
        var sender: String
        var id: String
    }

    var key: Key
    /// The agent's name.
    var name: String
    var operation: Command.Operation
    var warnings: [String]
    var address: ReplyAddress
    /// Those under which it runs.
    var maps: SimulatedMaps
    /// When it came, in milliseconds since 1970 by the clock of the fleet.
    var began: Int64

    var context: OpenContext { OpenContext(ref: key.id, caller: key.sender) }
}
