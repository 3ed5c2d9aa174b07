import ArgumentParser
import Configuration

/// The options of `waypost agent`, without those for the broker.
struct AgentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The agent's name, as it appears in topics.", valueName: "id"))
    var agent: String?

    @Option(
        name: .customLong("group"), parsing: .singleValue,
        help: ArgumentHelp(
            "A group that the agent belongs to; may be repeated. Every agent is in the group all.",
            valueName: "group"))
    var groups: [String] = []

    @OptionGroup
    var client: ClientOptions

    @Option(
        help: ArgumentHelp(
            "The directory for data that must survive a restart.",
            discussion: "Default: $STATE_DIRECTORY, else ~/.local/state/waypost/ID.", valueName: "directory"),
        completion: .directory)
    var state: String?

    @Flag(
        help: ArgumentHelp(
            "Rename a damaged state file and start with a new one; an intact file is kept.",
            discussion:
                "Also for a file that is missing, or older than what was stored. The agent then forgets which commands ran."
        ))
    var freshState = false

    @Option(
        help: ArgumentHelp(
            "Placeholder routes from a list exported by TheRouter; each counts how often it is opened.",
            valueName: "file"),
        completion: .file(extensions: ["json"]))
    var routes: String?

    @Flag(
        help: ArgumentHelp(
            "Return to the first --broker when it is available again.",
            discussion: "Without it the agent stays with the broker that it found."))
    var preferFirst = false

    @Flag(help: "Load the screens and services of the demo.")
    var demo = false

    @Option(
        help: ArgumentHelp(
            "The lowest level of events that are published: v d i w e f.", discussion: "Default: i.",
            valueName: "level"),
        completion: .list(["v", "d", "i", "w", "e", "f"]))
    var logLevel: String?

    @Option(
        help: ArgumentHelp(
            "How safely the agent stores commands and results: full (on disk before it acknowledges), normal, or off (a crash loses the last 0.1 s).",
            discussion: "Default: full.", valueName: "mode"),
        completion: .list(["full", "normal", "off"]))
    var durability: String?

    @Option(
        name: .customLong("trust-key"), parsing: .singleValue,
        help: ArgumentHelp(
            "A public key (PEM or base64, Ed25519); maps must be signed with it. May be repeated.",
            discussion: "ID is the key id in signatures. Default: the file's name.", valueName: "[id=]file")
    )
    var trustKeys: [String] = []

    @Option(
        help: ArgumentHelp(
            "How many of the trusted keys must sign a map.", discussion: "Default: 1.",
            valueName: "number"))
    var trustThreshold: Int?

    @Flag(help: "Commands must be signed, too. Signed commands are always checked.")
    var signedCommands = false

    @Option(
        help: ArgumentHelp(
            "What happens to the map in force when its exp has passed: keep or revert.",
            discussion: "Default: keep.",
            valueName: "what"))
    var expiredMaps: String?

    @Option(
        name: .customLong("redact-key"), parsing: .singleValue,
        help: ArgumentHelp(
            "A key whose values are masked in everything the agent publishes, like those of password and token; "
                + "may be repeated.", valueName: "key"))
    var redactKeys: [String] = []

    @Option(
        help: ArgumentHelp(
            "Serve counters and timers as Prometheus text at http://HOST:PORT/metrics.",
            valueName: "host:port"))
    var metrics: String?

    /// The options on the command line.
    var given: Settings.Options {
        [
            "agent": agent.map(ConfigContent.string),
            "group": groups.isEmpty ? nil : .stringArray(groups),
            "build": client.build.map(ConfigContent.string),
            "locale": client.locale.map(ConfigContent.string),
            "label": client.labels.isEmpty ? nil : .stringArray(client.labels),
            "state": state.map(ConfigContent.string),
            "fresh-state": freshState ? .bool(true) : nil,
            "prefer-first": preferFirst ? .bool(true) : nil,
            "routes": routes.map(ConfigContent.string),
            "demo": demo ? .bool(true) : nil,
            "log-level": logLevel.map(ConfigContent.string),
            "durability": durability.map(ConfigContent.string),
            "metrics": metrics.map(ConfigContent.string),
            "trust-key": trustKeys.isEmpty ? nil : .stringArray(trustKeys),
            "signed-commands": signedCommands ? .bool(true) : nil,
            "trust-threshold": trustThreshold.map(ConfigContent.int),
            "expired-maps": expiredMaps.map(ConfigContent.string),
            "redact-key": redactKeys.isEmpty ? nil : .stringArray(redactKeys),
        ]
    }
}
