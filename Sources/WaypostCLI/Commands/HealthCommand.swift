import ArgumentParser
import Configuration
import Waypost
import WaypostAgent
import WaypostBackend
import WaypostMessages

struct HealthCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask the agent of this machine for its health, without the broker.",
        discussion: """
            It asks the running agent over a socket in its state directory; for that it must run as the agent's user \
            or as root. Over the broker, waypost ping shows the health of an agent.

            Exit status: 0 when health is green, 1 when a check failed or is not known, or when no agent runs, 3 when \
            one runs and does not answer. With --alive it is 0 for every agent that answers and whose network thread \
            responds. Use that for a container's health check: an expired map is no reason to restart an agent.

            Examples:
              waypost health --local --agent k1
              waypost health --local --config /etc/waypost/agent.yaml
              waypost health --local --agent k1 --json | jq '.checks[] | select(.ok | not)'
            """)

    @Flag(help: "Ask the agent of this machine.")
    var local = false

    @Flag(help: "Only find out whether the agent runs, whatever its health is.")
    var alive = false

    @Option(help: ArgumentHelp("The agent's name.", valueName: "id"))
    var agent: String?

    @Option(
        help: ArgumentHelp(
            "The agent's state directory.", discussion: "Default: that of waypost agent.",
            valueName: "directory"), completion: .directory)
    var state: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("The agent's configuration file.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var configurationFile: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var wait: WaitOptions

    func validate() throws {
        guard local else {
            throw ValidationError(
                "add --local (this reads the agent on this machine); for a remote agent: waypost ping --agent ID"
            )
        }
        try NameCheck.check(agent, of: "--agent")
    }

    func perform() async throws {
        let given: Settings.Options = [
            "agent": agent.map(ConfigContent.string), "state": state.map(ConfigContent.string),
        ]
        let place = try await LocalAgent(Settings(given, file: configurationFile))
        let json: JSONValue
        do throws(CommandError) {
            json = try AgentSocket.ask(.health, in: place.directory, within: wait.duration)
        } catch {
            guard error.exit == .noReply, !StateInspection.isInUse(directory: place.directory) else {
                throw error
            }
            try show(StoppedAgent(directory: place.directory), place.name)
            throw Exit.failed
        }
        let health = Health(json)
        if output.isJSON {
            Terminal.print(json: json)
        } else {
            let how = health.isOnline == true ? "online, " : "offline, "
            for line in health.lines(of: health.agent ?? "the agent", how, output.style) {
                Terminal.print(line)
            }
        }
        guard alive ? health.isLoopRunning : health.isGreen else { throw Exit.failed }
    }
    private func show(_ stopped: StoppedAgent, _ name: String?) {
        if output.isJSON {
            Terminal.print(json: [
                "agent": name.map(JSONValue.string) ?? .null, "running": false,
                "found": .string(stopped.found), "advice": .string(stopped.advice),
            ])
        } else {
            Terminal.print("\(name.map { "\($0): " } ?? "")\(stopped.found)")
            Terminal.print("  → \(stopped.advice)")
        }
    }
}
