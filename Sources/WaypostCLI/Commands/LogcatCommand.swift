import ArgumentParser
import Glibc
import WaypostMessages

struct LogcatCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "logcat",
        abstract: "Follow the events and failures of one or all agents.",
        discussion: """
            Lines go to standard output in the format of Android's logcat. Agents that come and go, lost connections \
            and missed events are reported on standard error. The exit status is 130 on Ctrl-C, and 0 on SIGTERM or \
            when the output is closed.

            Failure reports are lines of level E with the tag Fail.

            Examples:
              waypost logcat
              waypost logcat --agent k1 --level W --since 10m
              waypost logcat 'Router:D' 'Service:W' '*:S'
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
            "Start with the recent events that the agents still have: 30s, 10m, 1h.",
            valueName: "time"))
    var since: TimeSpan?

    @Flag(help: "Only failure reports.")
    var failures = false

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Sender")
    var sender: SenderOptions

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        guard since == nil || !failures else {
            throw ValidationError(
                "use --since or --failures, not both: agents keep recent events, but not failure reports")
        }
    }

    func perform() async throws {
        var follower = LogFollower(
            settings: try await broker.resolved(), sender: sender.sender, agent: agent,
            filter: try lines.filter(), format: output.isJSON ? .json : lines.format, onlyFailures: failures,
            since: since, style: output.style,
            noticeStyle: Style(isOn: Terminal.wantsColours(STDERR_FILENO)))
        try await follower.runAsCommand()
    }
}
