import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// The options that every command to an agent has.
struct CommandOptions: ParsableArguments {
    @OptionGroup(title: "Target")
    var audience: AudienceOptions

    @OptionGroup(title: "Waiting")
    var wait: WaitOptions

    @Option(
        help: ArgumentHelp(
            "The command's id. A command with the same id and content does not run twice.",
            discussion: "Default: a new one."
        ))
    var id: String?

    @Option(
        help: ArgumentHelp(
            "The lane. Commands of one lane run one after another; different lanes run in parallel.",
            discussion: "Default: main."))
    var lane: String?

    @Option(
        help: ArgumentHelp(
            "How long the command may wait before it starts: 30s, 10m, 1d.", discussion: "Default: 1 min.",
            valueName: "time"))
    var expires: TimeSpan?

    @OptionGroup
    var signing: SignOptions

    @OptionGroup(title: "Sender")
    var sender: SenderOptions

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    func validate() throws {
        try NameCheck.check(id, of: "--id")
        try NameCheck.check(lane, of: "--lane")
        if let expires, !(1_000...Command.maximumLifetime).contains(expires.milliseconds) {
            throw ValidationError("--expires must be 1s to 1d")
        }
    }

    func command(_ operation: Command.Operation) -> Command {
        Command(
            sending: operation, id: id, lifetime: expires?.milliseconds ?? Command.defaultLifetime,
            lane: lane ?? Command.defaultLane, isTimed: expires != nil || signing.isGiven)
    }
}
