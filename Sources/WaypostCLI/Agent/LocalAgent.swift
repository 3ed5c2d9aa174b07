import WaypostMessages

/// The agent of this machine, as its settings describe it.
struct LocalAgent {
    /// Nil when only the directory was given.
    var name: String?
    var groups: [String]
    var directory: String

    /// - Throws: ``CommandError`` 64 when the settings name neither the agent nor its directory.
    init(_ settings: Settings) async throws(CommandError) {
        name = try await settings.text("agent")
        if let name, !Name.isValid(name) {
            throw CommandError(
                .usage, "agent \(name.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        groups = try await settings.texts("group")
        let chosen = try await settings.text("state")
        guard name != nil || chosen != nil else {
            throw CommandError(
                .usage, "--local needs the agent's name: --agent ID, WAYPOST_AGENT, or --config FILE")
        }
        directory = try StateDirectory.standard(
            agent: name ?? "", chosen: chosen, environment: Invocation.current.environment)
    }
}
