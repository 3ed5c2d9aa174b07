import ArgumentParser
import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

struct AgentsCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "agents",
        abstract:
            "List the agents at the broker: state, health, map and version.",
        discussion: """
            An agent is listed as long as the broker keeps its state, also when it is offline. Those that need \
            attention come first. SINCE is the time of the last connection or of the shutdown; for a lost agent, the \
            time of its last health.

            Examples:
              waypost agents
              waypost agents --watch
              waypost agents -o wide
              waypost agents --json | jq -r 'select(.state.state == "online") | .agent'
            """)

    @Flag(help: "Print only the names, one per line.")
    var names = false

    @Option(
        name: .customShort("o"),
        help: ArgumentHelp(
            "wide adds columns: uptime, groups, broker, age of the health.", valueName: "form"),
        completion: .list(["wide"]))
    var form: String?

    @Flag(name: .shortAndLong, help: "Go on, and print an agent again whenever its state changes.")
    var watch = false

    @OptionGroup
    var output: OutputOptions

    @OptionGroup
    var wait: WaitOptions

    @OptionGroup(title: "Sender", visibility: .shared)
    var sender: SenderOptions

    @OptionGroup(title: "Broker", visibility: .shared)
    var broker: BrokerOptions

    func validate() throws {
        guard form == nil || form == "wide" else { throw ValidationError("-o must be wide") }
        guard !names || (!watch && form == nil) else {
            throw ValidationError("--names prints the names alone, without -o and --watch")
        }
    }

    func perform() async throws {
        let settings = try await broker.resolved(as: sender.name)
        let reader = RosterReader(settings)
        let (roster, isComplete) = try await reader.roster(within: wait.duration)
        if names {
            for name in roster.members.keys.sorted() { Terminal.print(TerminalText(name)) }
        } else if output.isJSON {
            for member in roster.json { Terminal.print(json: member) }
        } else if roster.members.isEmpty {
            Terminal.print("no agents at \(settings.place) under \(settings.topics.root)")
            Terminal.note(
                "Some brokers, such as RabbitMQ, send no retained messages to a subscription with a wildcard. Then name "
                    + "the agent: waypost ping --agent ID")
        } else {
            for line in roster.table(output.style, isWide: form != nil) { Terminal.print(line) }
        }
        if roster.isFull {
            Terminal.note(
                "waypost: warning: only \(roster.members.count) agents are shown: there are more, or their documents are too long"
            )
        }
        guard isComplete else {
            throw CommandError(
                .failed,
                "the list may be incomplete: the broker had not sent all within \(wait.text); see --wait")
        }
        if watch { try await follow(reader, roster) }
    }

    private func follow(_ reader: RosterReader, _ roster: Roster) async throws {
        ClosedOutputMonitor.begin()
        do {
            try await reader.follow(roster) { roster, agent in
                if output.isJSON { return Terminal.print(json: roster.json(of: agent)) }
                let line = roster.line(of: agent, output.style, now: WallClock.now(), isWide: form != nil)
                return line.map { Terminal.print($0) } ?? true
            }
        } catch is CancellationError where Signals.exit == .terminated {
            // SIGTERM is its ordinary end, for it has no other.
        }
    }
}
