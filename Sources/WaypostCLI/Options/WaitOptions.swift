import ArgumentParser
import WaypostBackend
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
        guard replyWait.limit.milliseconds <= Self.longest.milliseconds else {
            throw ValidationError("--wait must be at most a day")
        }
    }

    var replyWait: ReplyWait { ReplyWait(given) }
    var isOn: Bool { replyWait.isOn }
    var duration: Duration { replyWait.duration }
    var text: String { replyWait.text }
}
