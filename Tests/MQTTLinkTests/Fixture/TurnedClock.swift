/// A clock that a test turns.
struct TurnedClock {
    private(set) var now = ContinuousClock.now

    mutating func turn(_ duration: Duration) { now += duration }
}
