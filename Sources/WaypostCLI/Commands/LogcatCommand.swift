import ArgumentParser
import WaypostBackend
import WaypostMessages

struct LogcatCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "logcat",
        abstract: "Follow the events and failures of one or all agents.",
        discussion: """
            Lines go to standard output in the format of Android's logcat. Agents that come and go, lost connections \
            and missed events are reported on standard error. The exit status is 130 on Ctrl-C, and 0 on SIGTERM or \
            when the output is closed.

            A failure report is a line of level E with the tag Fail, unless an event says the same.

            Examples:
              waypost logcat
              waypost logcat --agent k1 --level W --since 10m
              waypost logcat 'Router:D' 'Service:W' '*:S'
              waypost logcat --query 'agent:kiosk level:W -message:timeout'
              waypost logcat -d --since 18:40 -e 'took [0-9]{4,} ms'
              waypost logcat -t 50 -v UTC -v year
              waypost logcat --failures -v brief
              waypost logcat --json | jq -r .msg
            """)

    @OptionGroup(title: "Lines")
    var lines: LineOptions

    @Option(
        help: ArgumentHelp("Only this agent.", discussion: "Default: all.", valueName: "id"),
        completion: .agents)
    var agent: String?

    @Option(
        help: ArgumentHelp(
            "Start with the recent events that the agents still have: of 30s, 10m, 1h, or from 18:40 on.",
            valueName: "time"), transform: { try LogStart($0) })
    var since: LogStart?

    @Flag(name: .customShort("d"), help: "Print the recent events that the agents still have, and end.")
    var isDump = false

    @Option(
        name: .customShort("t"),
        help: ArgumentHelp(
            "Print the newest lines of the recent events, and end: so many, or those from a time on.",
            valueName: "count or time"), transform: { try LogHistoryRange($0) })
    var tail: LogHistoryRange?

    @Option(
        name: .customShort("T"),
        help: ArgumentHelp("The same as -t, and go on.", valueName: "count or time"),
        transform: { try LogHistoryRange($0) })
    var tailAndFollow: LogHistoryRange?

    @Option(
        name: [.customShort("m"), .customLong("max-count")],
        help: ArgumentHelp("End after so many lines.", valueName: "count"))
    var maximum: Int?

    @Flag(help: "Only failure reports.")
    var failures = false

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Sender", visibility: .shared)
    var sender: SenderOptions

    @OptionGroup(title: "Broker", visibility: .shared)
    var broker: BrokerOptions

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        let pasts = [since != nil, tail != nil, tailAndFollow != nil].count { $0 }
        guard pasts <= 1, !isDump || tailAndFollow == nil else {
            throw ValidationError("choose one of --since, -t and -T; -d goes with --since")
        }
        guard maximum.map({ $0 > 0 }) ?? true else { throw ValidationError("-m must be 1 or more") }
        guard history == nil || !failures else {
            throw ValidationError(
                "use --failures without --since, -d, -t, -T: agents keep recent events, but not failure reports"
            )
        }
    }

    /// What it begins with.
    private var history: LogHistoryRange? {
        tail ?? tailAndFollow ?? since.map { LogHistoryRange(start: $0) } ?? (isDump ? .everything : nil)
    }

    func perform() async throws {
        let printer = LogPrinter(
            output.isJSON ? LogFormat(form: .json) : try lines.format(), output.style,
            namesAgents: agent == nil, maximum: maximum)
        try await LogPrinter.follow(
            LogFollower(
                broker.resolved(as: sender.name), agent: agent, filter: lines.filter(),
                onlyFailures: failures, history: history, isDump: isDump || tail != nil,
                output: printer.show))
    }
}
