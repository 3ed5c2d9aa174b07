import ArgumentParser
import Threading
import WaypostBackend
import WaypostMessages

struct LogcatCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "logcat",
        abstract: "Follow the events and failures of agents.",
        discussion: """
            Lines go to standard output in the format of Android's logcat. Agents that come and go, lost connections \
            and missed events are reported on standard error; after a lost connection, the missed events are fetched. \
            The exit status is 130 on Ctrl-C, and 0 on SIGTERM or when the output is closed.

            A failure report is a line of level E with the tag Fail, unless an event says the same.

            Examples:
              waypost logcat
              waypost logcat --agent k1 --level W --since 10m
              waypost logcat --agent k1 --agent k2
              waypost logcat --group lobby --level W
              waypost logcat --matching '^kiosk-[0-9]+$'
              waypost logcat 'Router:D' 'Service:W' '*:S'
              waypost logcat --query 'agent:kiosk level:W -message:timeout'
              waypost logcat -d --since 18:40 -e 'took [0-9]{4,} ms'
              waypost logcat -t 50 -v UTC -v year
              waypost logcat --failures -v brief
              waypost logcat --json | jq -r .msg
            """)

    @OptionGroup(title: "Lines") var lines: LineOptions

    @Option(
        name: .customLong("agent"), parsing: .singleValue,
        help: ArgumentHelp("Only this agent; may be repeated.", discussion: "Default: all.", valueName: "id"),
        completion: .agents)
    var agents: [String] = []

    @Option(
        help: ArgumentHelp("Only the agents of this group.", valueName: "group"), completion: .groups)
    var group: String?

    @Option(
        help: ArgumentHelp(
            "Only agents whose name matches this regular expression.", valueName: "expression"),
        transform: { try AgentSelection.matching($0) })
    var matching: AgentSelection?

    @Option(
        help: ArgumentHelp(
            "Start with the recent events that the agents still have: of 30s, 10m, 1h, or from 18:40 on.",
            valueName: "time"), transform: { try LogStart($0) })
    var since: LogStart?

    @Flag(name: .customShort("d"), help: "Print the recent events that the agents still have, and exit.")
    var isDump = false

    @Option(
        name: .customShort("t"),
        help: ArgumentHelp(
            "Print the newest recent events, and exit: this many, or those since a time.",
            valueName: "count or time"), transform: { try LogRequest.Past($0) })
    var tail: LogRequest.Past?

    @Option(
        name: .customShort("T"),
        help: ArgumentHelp("Like -t, but keep running.", valueName: "count or time"),
        transform: { try LogRequest.Past($0) })
    var tailAndFollow: LogRequest.Past?

    @Option(
        name: [.customShort("m"), .customLong("max-count")],
        help: ArgumentHelp("Exit after this many lines.", valueName: "count"))
    var maximum: Int?

    @Flag(help: "Only failure reports.")
    var failures = false

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        for agent in agents { try NameCheck.check(agent, of: "--agent") }
        try NameCheck.check(group, of: "--group")
        guard [!agents.isEmpty, group != nil, matching != nil].count(where: \.self) <= 1 else {
            throw ValidationError("choose one of --agent, --group and --matching")
        }
        let pasts = [since != nil, tail != nil, tailAndFollow != nil].count { $0 }
        guard pasts <= 1, !isDump || tailAndFollow == nil else {
            throw ValidationError("choose one of --since, -t and -T; -d goes with --since")
        }
        guard maximum.map({ $0 > 0 }) ?? true else { throw ValidationError("-m must be 1 or more") }
        guard past == nil || !failures else {
            throw ValidationError(
                "--failures follows what comes; for the failures that agents keep, see: waypost failures --each"
            )
        }
    }

    /// What it begins with.
    private var past: LogRequest.Past? {
        tail ?? tailAndFollow ?? since.map { LogRequest.Past(start: $0) } ?? (isDump ? .everything : nil)
    }

    func perform() async throws {
        var request = LogRequest()
        request.agents = matching ?? AgentSelection(names: agents, group: group)
        request.filter = try lines.filter()
        request.onlyFailures = failures
        request.past = past
        request.endsWithPast = isDump || tail != nil
        let printer = LogPrinter(
            output.isJSON ? LogFormat(form: .json) : try lines.format(), output.style,
            namesAgents: request.agents.single == nil, maximum: maximum)
        try await printer.follow(request, at: session.resolved())
    }
}

extension LogStart {
    /// As people write it: a span, or a time in one of the forms of ``WrittenTime``.
    ///
    /// - Throws: ``TimeFault`` when it is neither.
    init(
        _ text: String, now: Int64 = WallClock.now(), local: @escaping WrittenTime.Zone = WrittenTime.local
    ) throws(TimeFault) {
        let ago = " ago"
        if let span = TimeSpan(argument: text.hasSuffix(ago) ? String(text.dropLast(ago.count)) : text) {
            self = .ago(span.duration)
        } else {
            self = .time(try WrittenTime(text).moment(now: now, local: local))
        }
    }
}

extension LogRequest.Past {
    /// As `-t` and `-T` of adb have it: a number of lines, or a time; from ten digits on a number is a time.
    ///
    /// - Throws: ``TimeFault`` when it is neither.
    init(_ text: String) throws(TimeFault) {
        guard let count = Int(text), count < 1_000_000_000 else {
            self.init(start: try LogStart(text))
            return
        }
        guard count > 0 else { throw TimeFault(description: "the number of lines must be 1 or more") }
        self.init(last: count)
    }
}
