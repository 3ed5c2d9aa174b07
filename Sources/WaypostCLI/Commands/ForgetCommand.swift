import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct ForgetCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Remove what a retired agent left at the broker.",
        discussion: """
            The broker keeps the last state, health, routes and map of every agent until they are removed. After that \
            the agent is no longer listed; if it connects again, it reappears without its map. An agent that is \
            online is not removed: stop it first.

            It needs the right to write the agent's topics. With this project's broker rules the agent's own user has \
            it for all but the map, which the release role removes: use --username kiosk-9, then --username release.

            Examples:
              waypost forget kiosk-9
              waypost forget kiosk-9 --yes --json
            """)

    @Argument(help: "The agent.", completion: .agents)
    var agent: String

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var output: OutputOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws { try NameCheck.check(agent, of: "agent") }

    func perform() async throws {
        try await RetirementOptions(yes: yes, output: output).remove(agent, session.resolved())
    }
}

/// The removal of what the broker keeps of an agent.
struct RetirementOptions {
    /// Whether it does not ask first.
    var yes: Bool
    var output: OutputOptions

    /// - Throws: ``CommandError`` when the agent is online, or when the broker still keeps something.
    func remove(_ agent: String, _ settings: BackendConfiguration) async throws {
        let retired = try await Backend(perCall: settings).agent(agent).retired()
        guard !retired.isOnline else {
            throw CommandError(.failed, "\(agent) is online; stop it before it is forgotten")
        }
        let what = "what the broker keeps of \(agent): \(retired.topics.count.counted("document"))"
        if !yes {
            guard Confirmation.canAsk else {
                throw CommandError(.usage, "there is no terminal to ask for confirmation; use --yes")
            }
            guard Confirmation.ask("remove \(what)?") else {
                throw CommandError(.failed, "\(agent) is not forgotten")
            }
        }
        let left = try await retired.remove()
        if output.isJSON {
            let removed = retired.topics.filter { !left.contains($0) }
            Terminal.print(json: [
                "agent": .string(agent), "removed": .array(removed.map { .string($0) }),
                "left": .array(left.map { .string($0) }),
            ])
        } else if left.isEmpty {
            Terminal.print("removed \(what)")
        }
        guard left.isEmpty else {
            throw CommandError(
                .failed,
                "the broker still keeps \(left.joined(separator: ", ")); its rules must let this user write there; see: waypost forget --help"
            )
        }
    }
}
