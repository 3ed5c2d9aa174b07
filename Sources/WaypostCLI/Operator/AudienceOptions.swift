import ArgumentParser
import WaypostMessages

/// Whom a command is for: one agent, or a group of them.
struct AudienceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The agent that shall do it.", valueName: "id"), completion: .agents)
    var agent: String?

    @Option(
        help: ArgumentHelp(
            "A group of agents instead; every agent is in the group all. Replies are collected until --wait is over.",
            valueName: "group"))
    var group: String?

    func validate() throws {
        if agent != nil, group != nil { throw ValidationError("--agent and --group exclude each other") }
        try NameCheck.check(agent, of: "--agent")
        try NameCheck.check(group, of: "--group")
    }

    /// Asked for when the command runs: while options are read, one that is misspelt has yet to be named.
    var audience: Audience {
        get throws(CommandError) {
            guard let audience = agent.map(Audience.agent) ?? group.map(Audience.group) else {
                throw CommandError(.usage, "name the agent with --agent ID, or a group with --group GROUP")
            }
            return audience
        }
    }
}
