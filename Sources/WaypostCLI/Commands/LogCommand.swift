import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct LogCommand: RequestVerb {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Change which events an agent publishes, for a limited time.",
        discussion: """
            After that time the agent returns to its configured level, even when it was restarted in between. A new \
            level replaces the previous one. Warnings and errors that the agent is configured to publish are still \
            published. waypost ping shows who asked for which level.

            Examples:
              waypost log V --agent k1 --for 10m
              waypost log D --agent k1 --for 1h --tag Router
              waypost log W --group lobby --for 30s
            """)

    @Argument(
        help: ArgumentHelp("The lowest level to publish: V D I W E F.", valueName: "level"),
        completion: .list(["V", "D", "I", "W", "E", "F"]))
    var level: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long: 30s, 10m; at most 1h.", valueName: "time"))
    var time = TimeSpan.minutes(10)

    @Option(help: "Only for events with this tag; others do not change.")
    var tag: String?

    func validate() throws {
        guard LogLevel(letter: level) != nil else {
            throw ValidationError("level must be one of V D I W E F; found \(level.debugDescription)")
        }
        guard (1...Command.maximumLogDuration).contains(time.milliseconds) else {
            throw ValidationError("--for must be more than 0 and at most 1h")
        }
    }

    func operation() throws -> Command.Operation {
        guard let level = LogLevel(letter: level) else {
            throw CommandError(.usage, "level must be one of V D I W E F; found \(level.debugDescription)")
        }
        return .log(level: level, tag: tag, milliseconds: time.milliseconds)
    }

    func lines(_ answer: CommandReply, _ style: Style) -> [TerminalText] {
        guard answer.isOK, let until = answer.reply.result["until"]?.time else {
            return ReplyText(style: style).lines(answer)
        }
        let level = answer.reply.result["level"]?.stringValue?.uppercased() ?? level
        let what = tag.map { "of tag \($0) " } ?? ""
        return [
            """
            \(style.status(.ok)): \(answer.agent) publishes events \(what)of level \(level) and higher until \
            \(Timestamp.local(until)) by its clock, then as before
            """
        ]
    }
}
