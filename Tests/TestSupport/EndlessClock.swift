/// A clock by which no deadline passes, for tests that are not about one: on a machine that has other things to do, what a
/// handler does in a moment may take longer than the ten seconds that it has.
public struct EndlessClock: Clock {
    /// Such a clock.
    public init() {}

    /// The time of the system's clock.
    public var now: ContinuousClock.Instant { ContinuousClock.now }
    /// That of no clock.
    public var minimumResolution: Duration { .zero }

    /// Ends when its task is cancelled.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }
}
