import Threading
import Waypost
import WaypostMessages

/// What to do about a command that one of the two clocks has kept from running.
struct ClockHint {
    private let reply: Reply
    private let command: Command
    private let isSigned: Bool
    private let now: Int64

    init(_ reply: Reply, _ command: Command, isSigned: Bool, now: Int64 = WallClock.now()) {
        (self.reply, self.command, self.isSigned, self.now) = (reply, command, isSigned, now)
    }

    /// Empty where no clock is to blame.
    var lines: [TerminalText] {
        guard command.hasAbsoluteExpiry else { return [] }
        let left = command.expires - now
        switch reply.code {
        case .clock, .clockSkew: return [isSigned ? Self.signed : "  to send it now: --ttl \(lifetime)"]
        case .expired where left > 0:
            return [
                "  by this machine's clock it expires in \(TimeText.span(left)): the agent's clock is ahead",
                isSigned ? Self.signed : "  to send it now: --ttl \(lifetime)",
            ]
        default: return []
        }
    }

    /// As it is written in an option.
    private var lifetime: String {
        "\(max(1_000, command.expires - (command.at ?? now)) / 1_000)s"
    }

    private static let signed: TerminalText =
        "  a signed command has a time of expiry: set the clocks of both machines first: timedatectl set-ntp true"
}
