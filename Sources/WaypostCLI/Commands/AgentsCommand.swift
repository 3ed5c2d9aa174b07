import ArgumentParser
import MQTTLink
import Threading
import Waypost
import WaypostBackend
import WaypostMessages

struct AgentsCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "agents",
        abstract:
            "List the agents at the broker: state, health, map and version.",
        discussion: """
            An agent is listed as long as the broker keeps its state, even when it is offline. Those that need \
            attention come first. SINCE is the time of the last connection, shutdown or observed loss; AS OF is the \
            time of the last health, which an agent publishes every 30 s.

            Agents that do not say a label or version that --label or --app asks for are left out, and named at the \
            end; with --json in an object with leftOut, agents and why.

            On a terminal the columns that matter least are left out, and long problems are truncated; see --wrap.

            Examples:
              waypost agents
              waypost agents k1 --wrap
              waypost agents --group lobby --problem
              waypost agents --state lost --state shut-down --sort since
              waypost agents --label region=eu --app '<2.5' --names
              waypost agents --watch
              waypost agents --ask --spread 1s
              waypost agents -o wide
              waypost agents --json | jq -r 'select(.state.state == "online") | .agent'
            """)

    @Argument(
        help: ArgumentHelp("Only these agents; all unless given.", valueName: "agent"), completion: .agents)
    var agents: [String] = []

    @Option(help: "Only the agents of this group.", completion: .groups)
    var group: String?

    @Option(
        name: .customLong("state"), parsing: .singleValue,
        help: ArgumentHelp(
            "Only agents in this state: \(RosterFilter.words.joined(separator: ", ")). May be repeated.",
            valueName: "state"), completion: .list(RosterFilter.words))
    var states: [String] = []

    @Flag(help: "Only agents with a problem.")
    var problem = false

    @Option(help: ArgumentHelp("Only agents of this version of the program.", valueName: "version"))
    var version: String?

    @Option(
        name: .customLong("label"), parsing: .singleValue,
        help: ArgumentHelp(
            "Only agents with this label: region=eu. May be repeated; all must fit.", valueName: "name=value")
    )
    var labels: [String] = []

    @Option(
        name: .customLong("app"),
        help: ArgumentHelp(
            "Only agents with these versions of the app, see --build of waypost agent: '<2.5', '>=2.1 <3'.",
            valueName: "range"))
    var app: String?

    @Option(help: ArgumentHelp("The column to sort by.", valueName: "column"))
    var sort = RosterFilter.Order.attention

    @Flag(help: "Print only the names, one per line.")
    var names = false

    @Option(
        name: .customShort("o"),
        help: ArgumentHelp(
            "wide adds columns: uptime, groups, app, labels, broker.", valueName: "form"),
        completion: .list(["wide"]))
    var form: String?

    @Flag(help: "Wrap long lines instead of truncating them.")
    var wrap = false

    @Flag(
        help: ArgumentHelp(
            """
            Ask all agents, rather than read what the broker keeps: that finds them at brokers that keep nothing. The \
            first answer may take 3 s, or as long as --wait says.
            """
        ))
    var ask = false

    @Option(
        help: ArgumentHelp("The time over which they spread their answers. (default: 2s)", valueName: "time"))
    var spread: TimeSpan?

    @Flag(name: .shortAndLong, help: "Keep running, and print an agent again whenever its state changes.")
    var watch = false

    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        for name in agents { try NameCheck.check(name, of: "agent") }
        try NameCheck.check(group, of: "--group")
        for state in states where !RosterFilter.words.contains(state) {
            throw ValidationError(
                "--state must be one of \(RosterFilter.words.joined(separator: ", ")); found \(state.debugDescription)"
            )
        }
        try FactFilter.check(labels, app)
        guard form == nil || form == "wide" else { throw ValidationError("-o must be wide") }
        guard !ask || !watch else { throw ValidationError("--ask asks once, without --watch") }
        guard spread == nil || ask else { throw ValidationError("--spread needs --ask") }
        guard (spread ?? .seconds(2)).milliseconds <= Command.maximumSpread else {
            throw ValidationError("--spread must be at most a minute")
        }
        guard !names || (!watch && form == nil) else {
            throw ValidationError("--names prints the names alone, without -o and --watch")
        }
    }

    func perform() async throws {
        let settings = try await session.resolved()
        let roster = try await Terminal.waiting(
            while: ask ? "asking the agents" : "reading what the broker keeps of the agents"
        ) {
            ask
                ? try await settings.askAgents(spread: (spread ?? .seconds(2)).milliseconds, wait: wait.given)
                : try await settings.roster(within: wait.duration)
        }
        let chosen = selection.agents(of: roster, now: WallClock.now())
        if names {
            let all = sort == .attention ? chosen.map(\.name).sorted() : chosen.map(\.name)
            for name in all {
                if output.isJSON {
                    Terminal.print(json: ["agent": .string(name)])
                } else {
                    Terminal.print(TerminalText(name))
                }
            }
        } else if output.isJSON {
            let all = sort == .attention ? chosen.sorted { $0.name < $1.name } : chosen
            for agent in all { Terminal.print(json: roster.json(of: agent.name)) }
        } else if roster.members.isEmpty, roster.gap == nil {
            let what = ask ? "no agent answered" : "no agents"
            Terminal.print("\(what) at \(settings.place) under \(settings.topics.root)")
            if !ask {
                Terminal.note(
                    "Some brokers, such as RabbitMQ, send no retained messages to a subscription with a wildcard. Then "
                        + "ask the agents: waypost agents --ask")
            }
        } else if chosen.isEmpty, agents.isEmpty {
            Terminal.print(
                "none of the \(roster.members.count.counted("agent")) at \(settings.place) matches")
        } else if !chosen.isEmpty {
            let table = AgentTable(chosen, isWide: form != nil)
            for line in table.lines(output.style, within: Terminal.width, wraps: wrap) {
                Terminal.print(line)
            }
        }
        tellSilent(selection.silent(of: roster, now: WallClock.now()))
        try throwIfUnknown(in: roster, settings.place)
        if let gap = roster.gap {
            throw CommandError(
                .failed,
                "the list may be incomplete: \(gap); see \(ask ? "--spread" : "--wait, and: waypost doctor")")
        }
        if watch { try await follow(roster, of: settings) }
    }

    private var selection: RosterFilter {
        RosterFilter(
            names: agents, group: group, states: states, haveProblem: problem, version: version,
            labels: FactFilter.values(labels), app: app.flatMap { AppRange($0) }, order: sort)
    }

    /// Those of which it is not known whether they are meant.
    private func tellSilent(_ agents: [String]) {
        guard !agents.isEmpty else { return }
        if output.isJSON {
            Terminal.print(json: [
                "leftOut": .int(Int64(agents.count)), "agents": .array(agents.map(JSONValue.string)),
                "why": "they do not say a label or a version that was asked for",
            ])
        } else {
            let shown = agents.prefix(5).joined(separator: ", ") + (agents.count > 5 ? ", …" : "")
            Terminal.note(
                "waypost: \(agents.count.counted("agent")) left out that \(agents.count == 1 ? "does" : "do") not say it, neither yes nor no: \(shown)"
            )
        }
    }

    private func throwIfUnknown(in roster: Roster, _ place: String) throws {
        let unknown = selection.unknownNames(in: roster).map { name, nearest in
            "there is no agent \(name) at \(place)\(NearestNames.question(nearest))"
        }
        guard unknown.isEmpty else { throw CommandError(.noReply, unknown.joined(separator: "; ")) }
    }

    private func follow(_ roster: Roster, of settings: BackendConfiguration) async throws {
        let monitor = ClosedOutputMonitor()
        defer { monitor.end() }
        do {
            let selection = selection
            var roster = roster
            try await settings.follow(&roster) { roster, agent in
                let now = WallClock.now()
                guard let member = roster.members[agent] else { return true }
                let status = AgentStatus(agent, member, now: now)
                guard selection.holds(for: status, member, now) else { return true }
                if output.isJSON { return Terminal.print(json: roster.json(of: agent)) }
                return AgentTable([status], now: now, isWide: form != nil).bareLines(output.style)
                    .allSatisfy { Terminal.print($0) }
            }
        } catch is CancellationError where Signals.exit == .terminated {
            // SIGTERM is its ordinary end, for it has no other.
        }
    }
}

extension RosterFilter.Order: ExpressibleByArgument {}
