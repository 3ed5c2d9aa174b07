import Glibc

/// The two clocks of the agent, as functions, so that a test can turn them.
struct AgentClock: Sendable {
    /// The wall clock, in milliseconds since 1970.
    var wall: @Sendable () -> Int64
    /// A clock that only goes forward, also through suspend, in milliseconds.
    var monotonic: @Sendable () -> Int64

    init(wall: @escaping @Sendable () -> Int64, monotonic: @escaping @Sendable () -> Int64) {
        self.wall = wall
        self.monotonic = monotonic
    }

    /// The clocks of the operating system.
    static let system = AgentClock(
        wall: { read(CLOCK_REALTIME) + FaultPoint.wallClockOffset },
        monotonic: { read(CLOCK_BOOTTIME) })

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
