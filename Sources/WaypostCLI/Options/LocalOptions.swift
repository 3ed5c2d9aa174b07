import ArgumentParser
import Configuration
import Waypost
import WaypostMessages

/// The agent of this machine in the place of one at a broker.
struct LocalOptions: ParsableArguments {
    @Flag(
        name: .customLong("local"),
        help: "Send it to the agent of this machine over its socket, without the broker; as its user or root."
    )
    var isOn = false

    @Option(
        help: ArgumentHelp(
            "With --local, the agent's state directory.", discussion: "Default: that of waypost agent.",
            valueName: "directory"), completion: .directory)
    var state: String?

    func validate() throws {
        guard isOn || state == nil else { throw ValidationError("--state needs --local") }
    }

    /// Sends a command to the agent, and waits for its reply.
    ///
    /// - Parameters:
    ///   - isNamed: Whether it was given its id, by which the agent recognises it.
    ///   - file: The agent's configuration file.
    /// - Throws: ``CommandError`` 3 when no agent answers.
    func send(
        _ command: Command, isNamed: Bool, to agent: String?, file: String?, within limit: Duration
    ) async throws -> (agent: String, reply: Reply) {
        let given: Settings.Options = [
            "agent": agent.map(ConfigContent.string), "state": state.map(ConfigContent.string),
        ]
        let place = try await LocalAgent(Settings(given, file: file))
        var members = (try? JSONValue(parsing: command.encoded(), limits: .trustedFile))?.objectValue ?? [:]
        if !isNamed { members["id"] = nil }
        let request = JSONValue.object(members).serialized() + [UInt8(ascii: "\n")]
        let json = try AgentSocket.ask(.commands, request, in: place.directory, within: limit)
        do throws(Failure) {
            return (place.name ?? "the agent", try Reply(json))
        } catch {
            throw CommandError(.noReply, "the agent's answer can't be read: \(error.detail)")
        }
    }
}
