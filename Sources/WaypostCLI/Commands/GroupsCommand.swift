import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

struct GroupsCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups",
        abstract: "Show which groups an agent is in, or change them without a restart.",
        discussion: """
            The broker keeps a document of the agent's groups, with a rev that only rises: those that are added to the \
            groups of its own settings, and those of them that it is not in. The agent stores it, subscribes, and takes \
            the maps and roll-outs of its new groups; it holds across restarts. An agent that runs with --own-groups \
            refuses it with 403 NOT_ALLOWED, and one that trusts keys wants it signed.

            Only the release role may write it. The broker's rules must let the agent read the topics of a new group.

            Examples:
              waypost groups --agent k1
              waypost groups --agent k1 --add lobby --remove shop
              waypost groups --agent k1 --clear
              waypost groups --agent k1 --clear --add lobby --json
              waypost groups --agent k9 --add lobby --new-agent --wait 0s
              waypost groups --agent k1 --add lobby --sign-key release.pem
            """)

    @Option(help: ArgumentHelp("The agent.", valueName: "id"), completion: .agents)
    var agent: String?

    @Option(
        name: .customLong("add"), parsing: .singleValue,
        help: ArgumentHelp("A group that it is to be in. May be repeated.", valueName: "group"),
        completion: .groups)
    var added: [String] = []

    @Option(
        name: .customLong("remove"), parsing: .singleValue,
        help: ArgumentHelp("A group that it is not to be in. May be repeated.", valueName: "group"),
        completion: .groups)
    var removed: [String] = []

    @Flag(help: "Forget what was written before: its own settings decide, but for --add and --remove.")
    var clear = false

    @Flag(help: "Write it for an agent that does not exist yet: the broker keeps it.")
    var newAgent = false

    @OptionGroup(title: "Signing", visibility: .shared) var signing: SignOptions
    @OptionGroup(title: "Signing") var trust: TrustOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions
    @OptionGroup(title: "Broker", visibility: .shared) var session: SessionOptions

    func validate() throws {
        try NameCheck.check(agent, of: "--agent")
        for (option, names) in [("--add", added), ("--remove", removed)] {
            for name in names { try NameCheck.check(name, of: option) }
            guard !names.contains("all") else {
                throw ValidationError("\(option): every agent is in the group all")
            }
        }
        if let both = added.first(where: removed.contains) {
            throw ValidationError("the group \(both) can't be added and removed at once")
        }
        guard !newAgent || isChange else { throw ValidationError("--new-agent needs --add or --remove") }
    }

    private var isChange: Bool { clear || !added.isEmpty || !removed.isEmpty }

    func perform() async throws {
        guard let agent else { throw CommandError(.usage, "name the agent with --agent ID") }
        let change = GroupsChange(adding: added, removing: removed, startsAnew: clear)
        var settings = try await session.resolved(signedBy: signing)
        try trust.name(to: &settings.signer)
        let groups = try await Backend.with(settings) { backend in
            let client = backend.agent(agent)
            guard isChange else { return try await client.groups() }
            return try await client.changeGroups(change, deadline: wait.given?.duration, allowsNew: newAgent)
        }
        if output.isJSON {
            Terminal.print(json: groups.json)
        } else {
            for line in lines(groups) { Terminal.print(line) }
        }
    }

    private func lines(_ groups: AgentGroups) -> [TerminalText] {
        func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
        var lines = [
            groups.groups.map { "\(groups.agent) is in \((["all"] + $0).joined(separator: ", "))" }
                ?? "the broker keeps no health of \(groups.agent): its groups are not known"
        ]
        if let revision = groups.revision {
            let state = groups.isApplied ? "in force" : "not in force yet"
            lines.append(
                "rev \(revision), \(state): added \(list(groups.added)); removed \(list(groups.removed))")
        }
        if let own = groups.own { lines.append("of its own settings: \(list(own))") }
        return lines.map { TerminalText($0) }
    }
}
