import DequeModule
import Glibc
import Waypost

/// How long guests of a pool may stay.
struct GuestTimes: Sendable {
    /// How long one runs what it started; what is left then goes to the pool.
    var turn = Duration.milliseconds(5)
    /// How often it is looked whether one blocks; such a one is kept at the second look.
    var look = Duration.milliseconds(10)
    /// How long none is taken after one that blocked: twice as long each time when they come in quick succession.
    ///
    /// A handler that always blocks costs a thread now and then only; one commit that took long, nearly nothing.
    var pauses = Duration.milliseconds(20)...Duration.seconds(10)
}

/// The place of one foreign thread in a pool, with the jobs that it started and has not run yet.
///
/// Decisions only; the pool acts.
struct GuestSeat {
    private struct Guest {
        let thread = pthread_self()
        let keep: @Sendable () -> Bool
        var jobs: Deque<PoolJob> = []
        /// It was there at the last look.
        var wasSeen = false
    }

    private var guest: Guest?
    private var isClosedUntil: UInt64 = 0
    /// One that blocks before that time does so soon after the last.
    private var isSoonUntil: UInt64 = 0
    /// Some came since the last look.
    private var wereSome = false
    private(set) var isWatched = false
    private let pauses: ClosedRange<Duration>
    private var pause: Duration

    init(pauses: ClosedRange<Duration>) {
        self.pauses = pauses
        pause = pauses.lowerBound
    }

    /// Whether the calling thread is the guest.
    var isHere: Bool { guest?.thread == pthread_self() }

    /// Whether the calling thread is the guest and has jobs.
    var hasJobs: Bool { isHere && guest?.jobs.isEmpty == false }

    /// Seats the calling thread; false when it can't be.
    ///
    /// - Parameter now: as in ``MonotonicTime/now``.
    mutating func take(at now: UInt64, keep: @escaping @Sendable () -> Bool) -> Bool {
        guard guest == nil, now >= isClosedUntil else { return false }
        guest = Guest(keep: keep)
        wereSome = true
        return true
    }

    /// Whether a look has to be taken after a while, and no one was told so yet.
    mutating func mustWatch() -> Bool {
        defer { isWatched = true }
        return !isWatched
    }

    /// Takes a job of the guest; false when the calling thread is none.
    mutating func append(_ job: PoolJob) -> Bool {
        guard isHere else { return false }
        guest?.jobs.append(job)
        return true
    }

    /// The guest's next job; nil when it has none, or is none any more.
    mutating func next() -> PoolJob? { isHere ? guest?.jobs.popFirst() : nil }

    /// The guest goes; what it has not run, or nil when the pool has kept it.
    mutating func leave() -> Deque<PoolJob>? {
        guard isHere else { return nil }
        defer { guest = nil }
        return guest?.jobs
    }

    /// Takes a look: a guest that was there at the last one too blocks, and is kept.
    mutating func look(at now: UInt64) -> (jobs: Deque<PoolJob>, keep: @Sendable () -> Bool)? {
        if let guest, guest.wasSeen {
            self.guest = nil
            pause = now < isSoonUntil ? min(pause * 2, pauses.upperBound) : pauses.lowerBound
            isClosedUntil = MonotonicTime.after(pause, from: now)
            isSoonUntil = MonotonicTime.after(pause * 10, from: now)
            isWatched = false
            return (guest.jobs, guest.keep)
        }
        guest?.wasSeen = true
        isWatched = wereSome || guest != nil
        wereSome = false
        return nil
    }
}
