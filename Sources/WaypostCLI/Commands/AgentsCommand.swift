import ArgumentParser
import MQTTLink
import Waypost
import WaypostMessages

struct AgentsCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "agents",
        abstract:
            "List the agents at the broker: state, start time, version, map and health.",
        discussion: """
            An agent is listed as long as the broker keeps its state, also when it is offline.

            Examples:
              waypost agents
              waypost agents --broker mqtts://broker.example --username ops --password-file ~/.waypost-password
              waypost agents --json | jq -r 'select(.state.state == "online") | .agent'
            """)

    /// When the broker has sent nothing for this long, it has sent all it keeps.
    private static let quiet = Duration.milliseconds(400)

    @Flag(help: "Print only the names, one per line.")
    var names = false

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Waiting")
    var wait: WaitOptions

    @OptionGroup(title: "Sender")
    var sender: SenderOptions

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    func perform() async throws {
        let settings = try await broker.resolved()
        let roster = try await roster(settings)
        if names {
            for name in roster.members.keys.sorted() { Terminal.print(TerminalText(name)) }
        } else if output.isJSON {
            for member in roster.json { Terminal.print(json: member) }
        } else if roster.members.isEmpty {
            Terminal.print("no agents at \(settings.place) under \(settings.topics.root)")
        } else {
            for line in roster.table(output.style) { Terminal.print(line) }
        }
        if roster.isFull {
            Terminal.note(
                "waypost: warning: there are more than \(Roster.maximumMembers) agents, or their documents are too long; the others are not shown"
            )
        }
    }

    private func roster(_ settings: BrokerSettings) async throws -> Roster {
        let filters = [settings.topics.state(of: "+"), settings.topics.health(of: "+")]
        return try await OperatorSession.with(settings, as: sender.sender, required: filters) { session in
            var roster = Roster(topics: settings.topics)
            let end = ContinuousClock.now + wait.duration
            var newest = ContinuousClock.now
            session.alarm(after: Self.quiet)
            while true {
                switch try await session.next() {
                case .message(let message):
                    // What is not retained is news, and may go on for ever.
                    if message.retain { newest = .now }
                    roster.saw(message)
                case .alarm:
                    let silence = ContinuousClock.now - newest
                    if silence >= Self.quiet || ContinuousClock.now >= end { return roster }
                    session.alarm(after: Self.quiet - silence)
                }
            }
        }
    }
}
