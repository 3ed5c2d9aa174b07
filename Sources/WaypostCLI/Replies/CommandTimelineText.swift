import Waypost
import WaypostBackend
import WaypostMessages

/// How a command went at an agent, from the reply to `inspect`.
struct CommandTimelineText {
    let id: String
    let sender: String
    let style: Style

    func lines(_ answer: CommandReply) -> [TerminalText] {
        CommandTimeline.all(in: answer, of: id).prefix(100).flatMap(lines)
    }

    private func lines(_ command: CommandTimeline) -> [TerminalText] {
        var lines: [TerminalText] = [
            "\(style.bold("\(id) of \(sender) to \(command.receiver)"))  \(command.situation)"
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
        step("received", command.received)
        if command.attempt > 1 {
            line(
                "interrupted",
                command.attempt == 2
                    ? "attempt 1: the agent ended before it had a result"
                    : "attempts 1 to \(command.attempt - 1): the agent ended before they had a result")
        }
        step("started", command.running, command.attempt > 1 ? "attempt \(command.attempt)" : nil)
        step("ended", command.ended, command.outcome)
        step("acknowledged", command.acknowledged, "the broker has the reply")
        if let due = command.due { line("begins", Timestamp.threadTime(due)) }
        if command.running == nil, command.ended == nil, let end = command.expires {
            line("expires", Timestamp.threadTime(end))
        }
        return lines
    }
}
