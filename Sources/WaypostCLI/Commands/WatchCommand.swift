import ArgumentParser
import Glibc
import WaypostBackend
import WaypostMessages

struct WatchCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Watch agents, failures and the log on one screen.",
        discussion: """
            The screen is updated as messages come; ? shows the keys, q or Ctrl-C ends it. It starts with the failures \
            of the last hour, where there are at most 200 agents. Without a terminal, as in a pipe, and with \
            --json, it prints lines like waypost logcat.

            Examples:
              waypost watch
              waypost watch --agent k1 --level W
              waypost watch 'Router:D' '*:W'
            """)

    @OptionGroup(title: "Lines") var lines: LineOptions

    @Option(
        help: ArgumentHelp("Only this agent.", discussion: "Default: all.", valueName: "id"),
        completion: .agents)
    var agent: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws { try NameCheck.check(agent, of: "--agent") }

    func perform() async throws {
        let given = try await session.settings(session.given)
        var settings = try await BackendConfiguration(given)
        try await settings.takeAccount(given)
        let filter = try lines.filter()
        guard !output.isJSON, ScreenMode.isPossible else {
            let printer = LogPrinter(
                output.isJSON ? LogFormat(form: .json) : try lines.format(), output.style,
                namesAgents: agent == nil)
            var request = LogRequest()
            request.agents = AgentSelection(names: [agent].compactMap(\.self))
            request.filter = filter
            return try await printer.follow(request, at: settings)
        }
        let loop = WatchLoop(
            feed: WatchFeed(settings: settings, profile: given.profile, agent: agent),
            style: output.style,
            state: WatchState(WatchModel(topics: settings.topics, filter: filter)))
        try await loop.run()
    }
}
