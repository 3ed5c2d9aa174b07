import ArgumentParser

/// The page `waypost help limits`: the numbers of an agent.
struct LimitsHelp: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits",
        abstract: "The limits and times of waypost agent.",
        usage: "waypost agent [<limits>]",
        discussion: """
            The defaults fit most agents. What an agent uses, and how much of it, is in: waypost describe agent ID.

            Example:
              waypost agent --agent k1 --demo --keepalive 20 --store-bytes 67108864
            """,
        shouldDisplay: false)

    @OptionGroup(title: "Limits and times") var numbers: AgentNumberOptions
}
