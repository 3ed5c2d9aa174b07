import ArgumentParser
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

struct PingCommand: RequestVerb {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Ask an agent for its health, and measure the round trip.",
        discussion: """
            Examples:
              waypost ping --agent k1
              waypost ping --group all --wait 2
              waypost ping --agent k1 --json
            """)

    func operation() -> Command.Operation { .ping() }

    func lines(_ answer: CommandReply, _ style: Style) -> [TerminalText] {
        guard answer.isOK else { return ReplyText(style: style).lines(answer) }
        let asked = WallClock.now() - answer.roundTrip
        let offset = ClockOffset(of: answer.reply, asked: asked, trip: answer.roundTrip)
        return Health(answer.reply.result)
            .lines(
                of: answer.agent, "\(answer.roundTrip) ms, ", style,
                clockError: answer.clockAhead.milliseconds)
            + [offset].compactMap(\.self).filter(\.isLarge).map {
                "  \(style.yellow(TerminalText($0.text(of: answer.agent))))"
            }
    }
}
