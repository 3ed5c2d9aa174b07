import ArgumentParser
import Configuration

/// What `waypost agent` can be told, beside the broker.
struct AgentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The agent's name in all topics.", valueName: "id"))
    var agent: String?

    @Option(
        name: .customLong("group"), parsing: .singleValue,
        help: ArgumentHelp(
            "A group it is in; repeat it for more. Every agent is in the group all.", valueName: "group"))
    var groups: [String] = []

    @Option(
        help: ArgumentHelp(
            "The directory for what must survive.",
            discussion: "Default: $STATE_DIRECTORY, else ~/.local/state/waypost/ID.", valueName: "directory"),
        completion: .directory)
    var state: String?

    @Flag(help: "Set a damaged state file aside and begin a new one; a sound one stays.")
    var freshState = false

    @Option(
        help: ArgumentHelp(
            "Stand-in routes: TheRouter's exported list; each path records its openings.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var routes: String?

    @Flag(help: "Load the demo's screens and services.")
    var demo = false

    @Option(
        help: ArgumentHelp(
            "The lowest level of events that are published: v d i w e f.", discussion: "Default: i.",
            valueName: "level"),
        completion: .list(["v", "d", "i", "w", "e", "f"]))
    var logLevel: String?

    @Option(
        help: ArgumentHelp(
            "When a commit counts: full (on the disk), normal, or off (for measuring only).",
            discussion: "Default: full.", valueName: "mode"),
        completion: .list(["full", "normal", "off"]))
    var durability: String?

    @Option(
        name: .customLong("trust-key"), parsing: .singleValue,
        help: ArgumentHelp(
            "A public key (PEM or base64, Ed25519) that maps must be signed with; repeat it for more.",
            discussion: "ID is what signatures call it; the file's name when absent.", valueName: "[id=]file")
    )
    var trustKeys: [String] = []

    @Option(
        help: ArgumentHelp(
            "How many of the trusted keys must have signed a map.", discussion: "Default: 1.",
            valueName: "number"))
    var trustThreshold: Int?

    @Flag(help: "Commands must be signed too; those that are signed are checked either way.")
    var signedCommands = false

    @Option(
        help: ArgumentHelp(
            "What becomes of a map in force whose exp passes: keep or revert.", discussion: "Default: keep.",
            valueName: "what"))
    var expiredMaps: String?

    @Option(
        name: .customLong("redact-key"), parsing: .singleValue,
        help: ArgumentHelp(
            "A key whose values are masked in everything the agent publishes, beside password, token and the like; "
                + "repeat it for more.", valueName: "key"))
    var redactKeys: [String] = []

    @Option(
        help: ArgumentHelp(
            "Show counters and timers as Prometheus text at http://HOST:PORT/metrics.",
            valueName: "host:port"))
    var metrics: String?

    @OptionGroup(title: "Limits and times")
    var numbers: AgentNumberOptions

    /// What was given on the command line.
    var given: Settings.Options {
        [
            "agent": agent.map(ConfigContent.string),
            "group": groups.isEmpty ? nil : .stringArray(groups),
            "state": state.map(ConfigContent.string),
            "fresh-state": freshState ? .bool(true) : nil,
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
        ].merging(numbers.given) { own, _ in own }
    }
}
