import CBuildDate
import Threading
import Waypost

/// Says whether the wall clock can be trusted; asked by all code that compares it with times from outside.
final class ClockMonitor: Sendable {
    private struct State {
        var check: ClockCheck
        /// On the monotonic clock: from when on ids may be forgotten.
        var forgetsFrom: Int64 = 0
    }

    private let clock: AgentClock
    /// How long nothing is forgotten after a step, and after a start, in milliseconds.
    private let forgetsAfter: Int64
    private let state: Guarded<State>

    init(clock: AgentClock, forgetsAfter: Int64) {
        self.clock = clock
        self.forgetsAfter = forgetsAfter
        // Nor after a start: the clock may have been set while no agent ran.
        state = Guarded(
            State(
                check: ClockCheck(wall: clock.wall(), monotonic: clock.monotonic()),
                forgetsFrom: clock.monotonic() + forgetsAfter))
    }

    /// Whether times in a message may be compared with the agent's clock.
    func isCorrect(at now: Int64) -> Bool {
        let monotonic = clock.monotonic()
        return state.withLock { state in
            let isCorrect = state.check.compare(wall: now, monotonic: monotonic)
            if !isCorrect { state.forgetsFrom = monotonic + forgetsAfter }
            return isCorrect
        }
    }

    /// Whether ids whose time is over by the clock may be forgotten.
    ///
    /// A clock that jumps ahead would end that time at once, and a repeated command would run again. So nothing is
    /// forgotten for a while after a step, nor after a start, before which it may have jumped unseen.
    func mayForget(at now: Int64) -> Bool {
        isCorrect(at: now) && state.withLock { clock.monotonic() >= $0.forgetsFrom }
    }
}

/// Compares the wall clock with the monotonic one, and with the date of the build.
struct ClockCheck: Sendable {
    /// No correct clock shows a time before the day of this build, in milliseconds since 1970.
    ///
    /// A day is left for time zones.
    static let buildDate: Int64 = (waypost_build_day() - 1) * 86_400_000
    /// A step of more than this against the monotonic clock is a fault until it has lasted, in milliseconds.
    static let maximumStep: Int64 = 60_000
    /// How long a stepped clock must go evenly before it is trusted again, in milliseconds.
    static let recovery: Int64 = 60_000

    private var lastWall: Int64
    private var lastMonotonic: Int64
    private var distrustedSince: Int64?

    init(wall: Int64, monotonic: Int64) {
        lastWall = wall
        lastMonotonic = monotonic
    }

    /// Compares the two clocks, at every use; false when the wall clock can't be trusted.
    mutating func compare(wall: Int64, monotonic: Int64) -> Bool {
        let step = (wall - lastWall) - (monotonic - lastMonotonic)
        lastWall = wall
        lastMonotonic = monotonic
        if abs(step) > Self.maximumStep { distrustedSince = monotonic }
        if let since = distrustedSince, monotonic - since >= Self.recovery { distrustedSince = nil }
        return distrustedSince == nil && wall >= Self.buildDate
    }
}
