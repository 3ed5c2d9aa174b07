import ArgumentParser
import WaypostMessages

/// The receivers of a command: one agent, or a group.
struct AudienceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The target agent.", valueName: "id"), completion: .agents)
    var agent: String?

    @Option(
        help: ArgumentHelp(
            "The target group; every agent is in the group all.",
            valueName: "group"), completion: .groups)
    var group: String?

    func validate() throws {
        if agent != nil, group != nil { throw ValidationError("use --agent or --group, not both") }
        try NameCheck.check(agent, of: "--agent")
        try NameCheck.check(group, of: "--group")
    }

    /// Whether receivers were named.
    var isGiven: Bool { agent != nil || group != nil }

    /// Checked when the command runs, so that a misspelt option is reported first.
    var audience: Audience {
        get throws(CommandError) {
            guard let audience = agent.map(Audience.agent) ?? group.map(Audience.group) else {
                throw CommandError(.usage, "name the agent with --agent ID, or a group with --group GROUP")
            }
            return audience
        }
    }
}
