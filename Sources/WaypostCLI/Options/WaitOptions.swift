import ArgumentParser
import WaypostBackend
import WaypostMessages

/// How long a command waits for the answer.
struct WaitOptions: ParsableArguments {
    /// A day: more than anyone waits at a prompt.
    private static let longest = TimeSpan.seconds(86_400)

    @Option(
        name: .customLong("wait"),
        help: ArgumentHelp("How long to wait for an answer; 0: not at all. (default: 10s)", valueName: "time")
    )
    var given: TimeSpan?

    func validate() throws {
        guard replyWait.limit.milliseconds <= Self.longest.milliseconds else {
            throw ValidationError("--wait must be at most a day")
        }
    }

    /// Throws when it does not wait, for a verb that only prints answers.
    func validateIsOn() throws {
        guard isOn else { throw ValidationError("--wait 0 waits for no answer") }
    }

    /// How long, where that was asked for.
    var deadline: Duration? { given?.duration }
    var replyWait: ReplyWait { ReplyWait(given) }
    var isOn: Bool { replyWait.isOn }
    var duration: Duration { replyWait.duration }
    var text: String { replyWait.text }
}
