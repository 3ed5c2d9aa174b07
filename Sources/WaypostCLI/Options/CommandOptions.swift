import ArgumentParser
import Waypost
import WaypostBackend
import WaypostMessages

/// How a command is sent.
struct CommandOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The command's id: the same command with the same id does not run twice.",
            discussion: "Default: a new one."
        ))
    var id: String?

    @Option(
        help: ArgumentHelp(
            "Commands of one lane run one after another, those of different lanes in parallel. (default: main)"
        ))
    var lane: String?

    @Option(
        help: ArgumentHelp(
            "How long the command may wait before it starts: 30s, 10m, 1d; never: a day after its arrival. (default: 1m)",
            valueName: "time"), transform: Lifetime.init)
    var expires: Lifetime?

    @Option(
        help: ArgumentHelp(
            "Like --expires, but counted from the arrival at the agent; it works even when the agent's clock is wrong.",
            valueName: "time"))
    var ttl: TimeSpan?

    func validate() throws {
        try NameCheck.check(id, of: "--id")
        try NameCheck.check(lane, of: "--lane")
        guard expires == nil || ttl == nil else { throw ValidationError("use --expires or --ttl, not both") }
        for (name, time) in [("--expires", expires?.span), ("--ttl", ttl)] {
            guard time.map({ (1_000...Command.maximumLifetime).contains($0.milliseconds) }) ?? true else {
                throw ValidationError("\(name) must be 1s to 1d")
            }
        }
    }

    /// - Throws: What a signed command can't have.
    func validate(signedBy signing: SignOptions) throws {
        guard timeToLive == nil || !signing.isGiven else {
            throw ValidationError("a signed command has a time of expiry; use --expires with a time")
        }
    }

    /// In milliseconds; nil for a time of expiry.
    private var timeToLive: Int64? {
        expires == .never ? Command.maximumLifetime : ttl?.milliseconds
    }

    func command(_ operation: Command.Operation, isSigned: Bool) -> Command {
        Command(
            sending: operation, id: id, lifetime: expires?.span?.milliseconds ?? Command.defaultLifetime,
            timeToLive: timeToLive, lane: lane ?? Command.defaultLane,
            isTimed: expires != nil || isSigned)
    }
}

/// How long a command may wait before it starts.
enum Lifetime: Equatable {
    case time(TimeSpan)
    /// The longest that an agent takes, and no time that a wrong clock could misjudge.
    case never

    init(_ text: String) throws {
        guard text != "never" else {
            self = .never
            return
        }
        guard let span = TimeSpan(argument: text) else {
            throw ValidationError(
                "--expires must be a time such as 30s, 10m, 1d, or never; found \(text.debugDescription)")
        }
        self = .time(span)
    }

    var span: TimeSpan? { if case .time(let span) = self { span } else { nil } }
}
