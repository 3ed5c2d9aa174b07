import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct RetainedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retained",
        abstract: "List, compare or remove what the broker keeps of an agent.",
        discussion: """
            Examples:
              waypost retained list --agent k1
              waypost retained diff --agent k1
              waypost retained clear --agent kiosk-9
            """,
        subcommands: [RetainedListCommand.self, RetainedDiffCommand.self, RetainedClearCommand.self],
        defaultSubcommand: RetainedListCommand.self)
}

/// The agent.
struct RetainedTarget: ParsableArguments {
    @Option(help: "The agent.", completion: .agents)
    var agent: String

    func validate() throws { try NameCheck.check(agent, of: "--agent") }
}

struct RetainedListCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List what the broker keeps of an agent.",
        discussion: """
            Examples:
              waypost retained list --agent k1
            """)

    @OptionGroup var target: RetainedTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        let kept = try await Backend(perCall: session.resolved()).agent(target.agent).retained()
        if output.isJSON {
            for document in kept.documents {
                Terminal.print(json: [
                    "topic": .string(document.topic), "bytes": .int(Int64(document.payload.count)),
                    "text": .string(document.summary),
                ])
            }
        } else if kept.documents.isEmpty {
            Terminal.print("the broker keeps nothing of \(target.agent)")
        } else {
            let table = TextTable(
                columns: [.init("TOPIC"), .init("BYTES"), .init("WHAT")],
                rows: kept.documents.map {
                    [$0.topic, String($0.payload.count), $0.summary].map(TextTable.cell)
                })
            for line in table.lines(within: Terminal.width).flatMap(\.self) {
                Terminal.print(TerminalText(line))
            }
        }
    }
}

struct RetainedDiffCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show where what the broker keeps differs from what the agent says now.",
        discussion: """
            The agent is asked. Exit status 1 when something differs, 3 when there is nothing to compare.

            Examples:
              waypost retained diff --agent k1
            """)

    @OptionGroup var target: RetainedTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions
    @OptionGroup var wait: WaitOptions

    func validate() throws { try wait.validateIsOn() }

    func perform() async throws {
        let agent = try await Backend(perCall: session.resolved()).agent(target.agent)
        let kept = try await agent.retained()
        var health: AgentHealth?
        do {
            health = try await agent.ping(SendOptions(deadline: wait.deadline))
        } catch let error as BackendError where [.noReply, .unknownReceiver].contains(error.kind) {
            // That it is silent is what is to be said.
        }
        guard health != nil || !kept.documents.isEmpty else {
            throw CommandError(
                .noReply, "the broker keeps nothing of \(target.agent), and it does not answer")
        }
        let differences = kept.differences(from: health)
        if output.isJSON {
            for difference in differences { Terminal.print(json: ["difference": .string(difference)]) }
        } else if differences.isEmpty {
            Terminal.print(
                health == nil
                    ? "\(target.agent) is offline, as the broker says"
                    : "the broker keeps what \(target.agent) says")
        } else {
            for difference in differences { Terminal.print(TerminalText(difference)) }
        }
        guard differences.isEmpty else { throw Exit.failed }
    }
}

struct RetainedClearCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove what the broker keeps of an agent that is gone.",
        discussion: """
            It asks first. The same as waypost forget.

            Examples:
              waypost retained clear --agent kiosk-9
              waypost retained clear --agent kiosk-9 --yes
            """)

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var target: RetainedTarget
    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func perform() async throws {
        try await RetirementOptions(yes: yes, output: output).remove(target.agent, session.resolved())
    }
}
