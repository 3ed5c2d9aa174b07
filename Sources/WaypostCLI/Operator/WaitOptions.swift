import ArgumentParser

/// How long a command waits for the answer.
struct WaitOptions: ParsableArguments {
    /// A day: nobody waits longer at a prompt, and the sum stays far from any overflow.
    private static let longest = 86_400.0

    @Option(
        name: .customLong("wait"),
        help: ArgumentHelp("Seconds to wait for the answer; 0 sends and does not wait.", valueName: "seconds")
    )
    var seconds = 10.0

    func validate() throws {
        guard (0...Self.longest).contains(seconds) else {
            throw ValidationError("--wait must be 0 to \(Int(Self.longest)) seconds")
        }
    }

    var duration: Duration { .milliseconds(Int64(seconds * 1000)) }

    /// For a sentence: `10 s`, `0.5 s`.
    var text: String { seconds == seconds.rounded() ? "\(Int(seconds)) s" : "\(seconds) s" }
}
