import WaypostMessages

/// The agent of this machine, as its settings describe it.
struct LocalAgent {
    /// Nil when only the directory was given.
    var name: String?
    var groups: [String]
    var directory: String

    /// - Throws: ``CommandError`` 64 when the settings name neither the agent nor its directory.
    init(_ settings: Settings) async throws(CommandError) {
        let environment = Invocation.current.environment
        if let given = try await settings.text("agent") {
            name = try AgentName.read(given, environment: environment)
        }
        groups = try await settings.texts("group")
        let chosen = try await settings.text("state")
        guard name != nil || chosen != nil else {
            throw CommandError(
                .usage, "--local needs the agent's name: --agent ID, WAYPOST_AGENT, or --config FILE")
        }
        directory = try StateDirectory.standard(
            agent: name ?? "", chosen: chosen, environment: environment)
    }
}
