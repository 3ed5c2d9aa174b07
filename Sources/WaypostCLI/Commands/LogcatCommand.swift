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
            "Begin with the events of the last while that the agents still have: 30s, 10m, 1h.",
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
                "--since and --failures exclude each other: agents publish events again, not failure reports")
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
