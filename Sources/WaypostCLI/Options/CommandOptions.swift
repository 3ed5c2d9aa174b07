import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// The options that every command to an agent has.
struct CommandOptions: ParsableArguments {
    @OptionGroup
    var audience: AudienceOptions

    @OptionGroup
    var wait: WaitOptions

    @Option(
        help: ArgumentHelp(
            "The command's id: the same command with the same id does not run twice.",
            discussion: "Default: a new one."
        ))
    var id: String?

    @Option(
        help: ArgumentHelp(
            "Commands of one lane run in turn, those of different lanes side by side. (default: main)"))
    var lane: String?

    @Option(
        help: ArgumentHelp(
            "How long the command may wait before it starts: 30s, 10m, 1d. (default: 1m)", valueName: "time"))
    var expires: TimeSpan?

    @OptionGroup(title: "Signing", visibility: .shared)
    var signing: SignOptions

    @OptionGroup(title: "Sender", visibility: .shared)
    var sender: SenderOptions

    @OptionGroup(title: "Broker", visibility: .shared)
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
