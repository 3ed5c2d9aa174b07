import Synchronization

/// Watches that the link's loop runs: everything that comes from the broker or goes to it passes through it.
final class LoopMonitor: Sendable {
    /// What became of the loop since the last check.
    enum News: Sendable, Equatable {
        /// It has stood still for so many milliseconds.
        case stalled(Int64)
        /// It goes on, after so many milliseconds.
        case recovered(Int64)
    }

    /// Longer than any pause of a loop that works, in milliseconds.
    private let limit: Int64
    private let lastTick: Atomic<Int64>
    private let stalledSince = Atomic<Int64>(0)

    init(limit: Int64, at now: Int64) {
        self.limit = limit
        lastTick = Atomic(now)
    }

    /// A turn has ended.
    func ticked(at now: Int64) { lastTick.store(now, ordering: .relaxed) }

    /// Whether the loop stood still at the last check.
    var isStalled: Bool { stalledSince.load(ordering: .relaxed) != 0 }

    /// Checks the loop; says what is new, each once.
    ///
    /// `now` is on the monotonic clock.
    func check(at now: Int64) -> News? {
        let last = lastTick.load(ordering: .relaxed)
        let since = stalledSince.load(ordering: .relaxed)
        if now - last > limit {
            guard since == 0 else { return nil }
            stalledSince.store(last, ordering: .relaxed)
            return .stalled(now - last)
        }
        guard since != 0 else { return nil }
        stalledSince.store(0, ordering: .relaxed)
        return .recovered(last - since)
    }
}
