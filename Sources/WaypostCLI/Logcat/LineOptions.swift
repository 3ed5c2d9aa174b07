import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// Which lines of the log are shown, and how.
struct LineOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Filters as in adb: TAG:LEVEL. Levels are V D I W E F, and S for nothing; *:LEVEL is for all other tags.",
            valueName: "filter"))
    var filters: [String] = []

    @Option(
        help: ArgumentHelp("The lowest level: V D I W E F.", discussion: "Default: V.", valueName: "level"),
        completion: .list(["V", "D", "I", "W", "E", "F"]))
    var level: String?

    @Option(help: "Only lines with this tag, in any case.")
    var tag: String?

    @Flag(name: .customShort("s"), help: "Only what the filters name, as with *:S.")
    var isSilent = false

    @Option(
        name: [.customShort("e"), .customLong("regex")],
        help: ArgumentHelp("Only lines whose message matches this regular expression.", valueName: "regex"))
    var expression: String?

    @Option(help: ArgumentHelp("Only lines of this process.", valueName: "number"))
    var pid: Int64?

    @Option(
        help: ArgumentHelp(
            "Only lines that match: terms such as tag:Router, level:W, -message:demo.",
            discussion: """
                Keys: agent tag level code ref url message age, and is:failure. Terms with the same key are ORed, \
                others ANDed; - negates; =: matches the whole text, ~: a regular expression.
                """, valueName: "query"))
    var query: String?

    @Option(
        name: .customShort("v"), parsing: .singleValue,
        help: ArgumentHelp(
            "The form of a line: threadtime, brief or json; and color, UTC, year, uid (the agent's name).",
            discussion: "May be repeated. Default: threadtime.", valueName: "form"),
        completion: .list(LogFormat.words))
    var forms: [String] = []

    func validate() throws {
        if let level, LogLevel(name: level) == nil {
            throw ValidationError("--level must be one of V D I W E F; found \(level.debugDescription)")
        }
    }

    /// - Throws: ``CommandError`` 64 for an unknown form.
    func format() throws(CommandError) -> LogFormat { try LogFormat(forms) }

    /// - Throws: ``BackendError`` quoting what can't be read.
    func filter() throws(BackendError) -> LogFilter {
        try LogFilter(
            filters, level: level.flatMap { LogLevel(name: $0) }.map { AgentEvent.Level($0) } ?? .verbose,
            tag: tag,
            isSilent: isSilent, expression: expression, process: pid, query: query)
    }
}
