import ArgumentParser
import Configuration
import Waypost
import WaypostBackend

struct HealthCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask the agent of this machine for its health, without the broker.",
        discussion: """
            It asks the running agent over a socket in its state directory; for that it must run as the agent's user \
            or as root. Over the broker, waypost ping shows the health of an agent.

            Exit status: 0 when health is green, 1 when it is red, 3 when no agent answers. With --alive it is 0 for \
            every agent that answers and whose loop runs: for a container's health check, which must not have an \
            agent restarted because a map has expired.

            Examples:
              waypost health --local --agent k1
              waypost health --local --config /etc/waypost/agent.yaml
              waypost health --local --json | jq '.checks[] | select(.ok | not)'
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

    @OptionGroup
    var output: OutputOptions

    @OptionGroup(title: "Waiting")
    var wait: WaitOptions

    func validate() throws {
        guard local else { throw ValidationError("use --local; over the broker, see: waypost ping") }
        try NameCheck.check(agent, of: "--agent")
    }

    func perform() async throws {
        let given: Settings.Options = [
            "agent": agent.map(ConfigContent.string), "state": state.map(ConfigContent.string),
        ]
        let place = try await LocalAgent(Settings(given, file: configurationFile))
        let json = try HealthSocket.ask(in: place.directory, within: wait.duration)
        let health = Health(json)
        if output.isJSON {
            Terminal.print(json: json)
        } else {
            let how = json["online"]?.boolValue == true ? "online, " : "offline, "
            for line in health.lines(of: json["agent"]?.stringValue ?? "the agent", how, output.style) {
                Terminal.print(line)
            }
        }
        guard alive ? health.isLoopRunning : health.isGreen else { throw Exit.failed }
    }
}
