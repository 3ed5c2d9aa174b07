import Threading
import WaypostMessages

/// The two clocks of the agent, as functions, so that a test can turn them.
package struct AgentClock: Sendable {
    /// The wall clock, in milliseconds since 1970.
    package var wall: @Sendable () -> Int64
    /// A clock that only goes forward, also through suspend, in milliseconds.
    var monotonic: @Sendable () -> Int64

    /// The zone of the agent's machine.
    var zone: LocalZone.Offset = LocalZone.system

    init(wall: @escaping @Sendable () -> Int64, monotonic: @escaping @Sendable () -> Int64) {
        self.wall = wall
        self.monotonic = monotonic
    }

    /// The clocks of the operating system.
    package static let system = AgentClock(
        wall: { WallClock.now() + FaultPoint.wallClockOffset },
        monotonic: { Int64(MonotonicTime.continuous / 1_000_000) })
}
