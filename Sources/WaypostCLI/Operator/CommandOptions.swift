import ArgumentParser
import WaypostMessages

/// What every command to an agent has beside its own part.
struct CommandOptions: ParsableArguments {
    @OptionGroup(title: "Whom")
    var audience: AudienceOptions

    @OptionGroup(title: "Waiting")
    var wait: WaitOptions

    @Option(
        help: ArgumentHelp(
            "The command's id; the same id and content is never run twice.", discussion: "Default: a new one."
        ))
    var id: String?

    @Option(
        help: ArgumentHelp(
            "The lane: commands of one lane run one after another, lanes side by side.",
            discussion: "Default: main."))
    var lane: String?

    @Option(
        help: ArgumentHelp(
            "Seconds after which the command must not start any more.", valueName: "seconds"))
    var expires = 60

    @OptionGroup(title: "Sender")
    var sender: SenderOptions

    @OptionGroup(title: "Broker")
    var broker: BrokerOptions

    func validate() throws {
        for (option, name) in [("--id", id), ("--lane", lane)] {
            guard let name, !Name.isValid(name) else { continue }
            throw ValidationError(
                "\(option) \(name.debugDescription) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        guard (1...86_400).contains(expires) else {
            throw ValidationError("--expires must be 1 to 86400 seconds")
        }
    }

    func command(_ operation: Command.Operation) -> Command {
        let now = WallClock.now()
        return Command(
            id: id ?? CommandID.make(at: now), operation: operation, at: now,
            expires: now + Int64(expires) * 1000, lane: lane ?? Command.defaultLane)
    }
}
