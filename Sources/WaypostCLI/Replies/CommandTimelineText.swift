import Waypost
import WaypostBackend
import WaypostMessages

/// How a command went at an agent, from the reply to `inspect`.
struct CommandTimelineText {
    let id: String
    let sender: String
    let style: Style

    func lines(_ answer: CommandReply) -> [TerminalText] {
        CommandSituation.all(in: answer.reply, clockError: ClockOffset.error(of: answer)).flatMap(timeline)
    }

    private func timeline(_ situation: CommandSituation) -> [TerminalText] {
        var lines: [TerminalText] = [
            "\(style.bold("\(id) of \(sender) to \(situation.receiver)"))  \(situation.text)"
        ]
        func line(_ step: String, _ text: String) { lines.append("  \(step.padding(to: 13))\(text)") }
        var before: Int64?
        func step(_ name: String, _ time: Int64?, _ note: String? = nil) {
            guard let time else { return }
            let difference = before.map {
                " +\(max(0, time.subtracting(clamping: $0))) ms"
            }
            let more = [difference, note.map { " " + $0 }].compactMap(\.self).joined(separator: " ")
            line(name, "\(Timestamp.threadTime(time))\(more)")
            before = time
        }
        step("received", situation.received)
        if situation.interrupted > 0 {
            line(
                "interrupted",
                situation.interrupted == 1
                    ? "attempt 1: the agent ended before it had a result"
                    : "attempts 1 to \(situation.interrupted): the agent ended before they had a result")
        }
        step("started", situation.started, situation.attempt > 1 ? "attempt \(situation.attempt)" : nil)
        step("ended", situation.ended, situation.outcome)
        step("acknowledged", situation.acknowledged, "the broker has the reply")
        if let due = situation.due { line("begins", Timestamp.threadTime(due)) }
        if situation.started == nil, !situation.isOver, let end = situation.expires {
            line("expires", Timestamp.threadTime(end))
        }
        return lines
    }
}
