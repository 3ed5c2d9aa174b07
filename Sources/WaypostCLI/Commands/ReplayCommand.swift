import ArgumentParser
import MQTTLink
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
        let settings = try await session.resolved()
        let filter = try lines.filter()
        let collector = try await collect(settings, filter)
        for (agent, reply) in collector.refusals {
            throw CommandError(
                .failed,
                "\(agent): \(reply.code): \(reply.detail ?? "no detail given")")
        }
        let format = output.isJSON ? LogFormat(form: .json) : try lines.format()
        let clocks = collector.wrongClocks
        for line in collector.wanted {
            line.corrected(by: clocks[line.agent] ?? 0).show(format, output.style, agentWidth: nil)
        }
        for (agent, error) in clocks { Terminal.note("--- \(ClockOffset.notice(agent, error: error))") }
        let loss = MessageLoss(dropped: collector.dropped, unread: collector.unread)
        for gap in collector.gaps + loss.notices { Terminal.note("--- \(gap)") }
    }

    private func collect(_ settings: BackendConfiguration, _ filter: LogFilter) async throws
        -> ReplayCollector
    {
        let topics = settings.topics
        let sender = settings.name
        var collector = ReplayCollector(
            agents: [agent], sender: sender, topics: topics, filter: filter,
            past: LogRequest.Past(start: since))
        return try await BackendSession.with(
            settings,
            required: [topics.reply(of: agent, to: sender), topics.logs(of: agent)],
            useful: [topics.state(of: agent), topics.health(of: agent)]
        ) { session in
            var diagnosis = NoReplyDiagnosis(.agent(agent), topics: topics)
            try await session.meet(.agent(agent), within: wait.replyWait, &diagnosis)
            try await session.read(&collector, first: wait.duration) {
                diagnosis.saw($0)
            }
            guard collector.hasAnswers else {
                throw BackendError(.noReply, diagnosis.explanation(after: wait.text))
            }
            return collector
        }
    }
}
