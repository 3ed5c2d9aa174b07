import ArgumentParser
import WaypostMessages

/// How long a command waits for the answer.
struct WaitOptions: ParsableArguments {
    /// A day: more than anyone waits at a prompt.
    private static let longest = TimeSpan.seconds(86_400)

    @Option(
        name: .customLong("wait"),
        help: ArgumentHelp(
            "How long to wait for the reply: 500ms, 10s, 2m; 0 means do not wait. (default: 10s, and not for an agent that is offline)",
            valueName: "time")
    )
    var given: TimeSpan?

    func validate() throws {
        guard limit.milliseconds <= Self.longest.milliseconds else {
            throw ValidationError("--wait must be at most a day")
        }
    }

    /// Whether it was said how long to wait.
    var isGiven: Bool { given != nil }

    private var limit: TimeSpan { given ?? .seconds(10) }

    /// Whether to wait at all.
    var isOn: Bool { limit.milliseconds > 0 }

    var duration: Duration { limit.duration }

    /// For a sentence: `10 s`, `500 ms`.
    var text: String { limit.description }
}
