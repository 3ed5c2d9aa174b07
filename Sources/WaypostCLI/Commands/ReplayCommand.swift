import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct ReplayCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Print the recent events of an agent.",
        discussion: """
            An agent keeps its recent events in memory, as many as its log-ring allows, and only those of the levels \
            that it publishes; see: waypost log. They are fetched page by page, and the agent filters them as far as it \
            can. An agent of an older version sends only the newest \(Command.maximumReplay).

            Examples:
              waypost replay --agent k1
              waypost replay --agent k1 --since 10m --level W
              waypost replay --agent k1 --tag Router --json | jq -r .msg
            """)

    @Option(help: ArgumentHelp("The target agent.", valueName: "id"), completion: .agents)
    var agent: String

    @Option(
        help: ArgumentHelp(
            "Only events from this time on: 30s, 10m, 1h ago, or 18:40.", discussion: "Default: all.",
            valueName: "time"), transform: { try LogStart($0) })
    var since: LogStart?

    @OptionGroup(title: "Lines") var lines: LineOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws { try NameCheck.check(agent, of: "--agent") }

    func perform() async throws {
        let client = Backend(perCall: try await session.resolved()).agent(agent)
        let events = try await client.replay(
            lines.filter(), past: LogRequest.Past(start: since), deadline: wait.deadline)
        let format = output.isJSON ? LogFormat(form: .json) : try lines.format()
        let error = events.clockAhead.milliseconds
        for line in events.lines { line.corrected(by: error).show(format, output.style, agentWidth: nil) }
        if error != 0 { Terminal.note("--- \(ClockOffset.notice(agent, error: error))") }
        for gap in events.gaps { Terminal.note("--- \(gap)") }
    }
}
