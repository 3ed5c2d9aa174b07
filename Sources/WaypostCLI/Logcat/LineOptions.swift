import ArgumentParser
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

    @Option(help: "Only lines with this tag.")
    var tag: String?

    @Option(name: .customShort("v"), help: ArgumentHelp("The format of a line.", valueName: "form"))
    var format: LogFormat = .threadtime

    func validate() throws {
        if let level, LogLevel(letter: level) == nil {
            throw ValidationError("--level must be one of V D I W E F; found \(level.debugDescription)")
        }
    }

    /// - Throws: ``CommandError`` 64 quoting the filter.
    func filter() throws(CommandError) -> LogFilter {
        try LogFilter(filters, level: level.flatMap { LogLevel(letter: $0) }, tag: tag)
    }
}

extension LogFormat: ExpressibleByArgument {}
