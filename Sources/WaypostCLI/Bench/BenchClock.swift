/// The time of a run, which stands still while this process does not run: a suspended machine, or Ctrl-Z.
///
/// It is asked every few milliseconds. Where far more passed in between, nothing was sent and no reply could be read
/// here: that is neither a latency nor a silence of the agent.
struct BenchClock: Sendable {
    /// As far as it goes between two questions: a process that waits for a busy machine gets its turn sooner.
    private static let longestStep = Duration.seconds(1)

    private var last = ContinuousClock.now
    /// How long it stood still.
    private(set) var stoodStill = Duration.zero

    /// The time now; only differences of such times say something.
    mutating func now() -> ContinuousClock.Instant {
        let now = ContinuousClock.now
        let step = now - last
        if step > Self.longestStep { stoodStill += step - Self.longestStep }
        last = now
        return now - stoodStill
    }
}
