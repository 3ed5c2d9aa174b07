/// A clock that a test moves.
struct ManualClock {
    private(set) var now = ContinuousClock.now

    mutating func turn(_ duration: Duration) { now += duration }
}
