import FoundationEssentials
import WaypostMessages

/// The agent of this machine, as its settings describe it.
struct LocalAgent {
    var name: String
    var groups: [String]
    var directory: String

    /// - Throws: ``CommandError`` 64 when the settings do not name it.
    init(_ settings: Settings) async throws(CommandError) {
        guard let name = try await settings.text("agent"), Name.isValid(name) else {
            throw CommandError(
                .usage, "--local needs the agent's name: --agent ID, WAYPOST_AGENT, or --config FILE")
        }
        self.name = name
        groups = try await settings.texts("group")
        directory =
            try await settings.text("state")
            ?? StateDirectory.standard(agent: name, environment: ProcessInfo.processInfo.environment)
    }
}
