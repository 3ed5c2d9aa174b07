import ArgumentParser
import Glibc
import WaypostMessages

struct LogcatCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "logcat",
        abstract: "Follow the events and failures of one or all agents.",
        discussion: """
            Lines go to standard output in the form of Android's logcat; who comes and goes, lost connections and \
            missed events are told on standard error. It ends with status 130 on Ctrl-C, and with 0 on SIGTERM or \
            when nobody reads its output any more.

            Failure reports appear as lines of level E with the tag Fail.

            Examples:
              waypost logcat
              waypost logcat --agent k1 --level W
              waypost logcat 'Router:D' 'Service:W' '*:S'
              waypost logcat --json | jq -r .msg
            """)

    @Argument(
        help: ArgumentHelp(
            "Filters as in adb: TAG:LEVEL, with levels V D I W E F and S for nothing; *:LEVEL is for all others.",
            valueName: "filter"))
    var filters: [String] = []

    @Option(help: ArgumentHelp("Only this agent.", discussion: "Default: all.", valueName: "id"))
    var agent: String?

    @Option(
        help: ArgumentHelp("The lowest level: V D I W E F.", discussion: "Default: V.", valueName: "level"))
    var level: String?

    @Option(help: "Only lines with this tag.")
    var tag: String?

    @Option(name: .customShort("v"), help: ArgumentHelp("The form of a line.", valueName: "form"))
    var format: LogFormat = .threadtime

    @Flag(help: "Only failure reports.")
    var failures = false

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Sender")
    var sender: SenderOptions

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    func validate() throws {
        if let agent, !Name.isValid(agent) {
            throw ValidationError(
                "--agent \(agent.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        if let level, LogLevel(letter: level) == nil {
            throw ValidationError("--level must be one of V D I W E F; found \(level.debugDescription)")
        }
    }

    func perform() async throws {
        let filter = try LogFilter(filters, level: level.flatMap { LogLevel(letter: $0) }, tag: tag)
        var follower = LogFollower(
            settings: try await broker.resolved(), sender: sender.sender, agent: agent, filter: filter,
            format: output.isJSON ? .json : format, onlyFailures: failures, style: output.style,
            noticeStyle: Style(isOn: Terminal.wantsColours(STDERR_FILENO)))
        ReaderWatch.begin()
        do {
            try await follower.run()
        } catch is CancellationError where Signals.exit == .terminated {
            // Asked politely to end: that is its ordinary end, for it has no other.
        }
    }
}

extension LogFormat: ExpressibleByArgument {}
