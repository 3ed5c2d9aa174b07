import ArgumentParser
import MQTTLink
import WaypostMessages

struct ReplayCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Print the recent events of an agent.",
        discussion: """
            An agent keeps its recent events in memory and publishes at most the newest \(Command.maximumReplay) of \
            them again. It keeps only events of the levels that it publishes; see: waypost log.

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
            valueName: "time"))
    var since: LogStart?

    @OptionGroup(title: "Lines")
    var lines: LineOptions

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Waiting")
    var wait: WaitOptions

    @OptionGroup(title: "Sender")
    var sender: SenderOptions

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    /// How long events may come after the reply that counted them; those below W are sent only once.
    private static let patience = Duration.seconds(2)

    func validate() throws { try NameCheck.check(agent, of: "--agent") }

    func perform() async throws {
        let settings = try await broker.resolved()
        let filter = try lines.filter()
        let collector = try await collect(settings)
        for (agent, reply) in collector.refusals {
            throw CommandError(
                .failed,
                "\(agent): \(reply.code): \(reply.detail ?? "no detail given")")
        }
        let format = output.isJSON ? LogFormat(form: .json) : try lines.format()
        for line in collector.events(since: since) where filter.shows(line) {
            line.show(format, output.style, agentWidth: nil)
        }
        if !collector.isComplete {
            Terminal.note("--- some events were lost; those of levels below W are sent only once")
        } else if let since, !collector.cutShort(since: since).isEmpty {
            Terminal.note("--- \(agent) has no events as old as \(since)")
        }
    }

    private func collect(_ settings: BrokerSettings) async throws -> ReplayCollector {
        let topics = settings.topics
        let sender = sender.sender(settings)
        var collector = ReplayCollector(agent: agent, sender: sender, topics: topics)
        return try await OperatorSession.with(
            settings, as: sender,
            required: [topics.reply(of: agent, to: sender), topics.logs(of: agent)],
            useful: [topics.state(of: agent), topics.health(of: agent)]
        ) { session in
            try await session.publish(collector.message)
            session.alarm(after: wait.duration)
            var diagnosis = NoReplyDiagnosis(.agent(agent), topics: topics)
            while !collector.isComplete {
                guard case .message(let message) = try await session.next() else {
                    if collector.hasAnswers { break }
                    throw CommandError(.noReply, diagnosis.explanation(after: wait.text))
                }
                diagnosis.saw(message)
                let hadAnswers = collector.hasAnswers
                _ = collector.saw(message)
                if collector.hasAnswers && !hadAnswers { session.alarm(after: Self.patience) }
            }
            return collector
        }
    }
}
