import Synchronization

/// Watches that the link's thread turns: everything that comes from the broker or goes to it passes there.
final class LoopWatch: Sendable {
    /// What became of the loop since it was last looked at.
    enum News: Sendable, Equatable {
        /// It has stood still for so many milliseconds.
        case stalled(Int64)
        /// It turns again, after so many milliseconds.
        case recovered(Int64)
    }

    /// Longer than any sleep of a loop that is well, in milliseconds.
    private let limit: Int64
    private let lastTick: Atomic<Int64>
    private let stalledSince = Atomic<Int64>(0)

    init(limit: Int64, at now: Int64) {
        self.limit = limit
        lastTick = Atomic(now)
    }

    /// A turn has ended.
    func ticked(at now: Int64) { lastTick.store(now, ordering: .relaxed) }

    /// Whether the loop stood still when it was last looked at.
    var isStalled: Bool { stalledSince.load(ordering: .relaxed) != 0 }

    /// Looks at the loop; says what is new, each once.
    ///
    /// `now` is on the monotonic clock.
    func look(at now: Int64) -> News? {
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
