#if canImport(Glibc)
import Glibc

/// How long a pool borrows a thread.
package struct BorrowingTimes: Sendable {
    /// How long the thread runs what it started; what is left then goes to the pool.
    var turn = Duration.milliseconds(5)
    /// How often the pool checks whether the thread is blocked; it adopts one that is blocked at two checks in a row.
    var interval = Duration.milliseconds(10)
    /// How long no thread is borrowed after one that blocked: twice as long each time when that happens in quick
    /// succession.
    ///
    /// A handler that always blocks costs a thread now and then only; one commit that took long, nearly nothing.
    var pauses = Duration.milliseconds(20)...Duration.seconds(10)

    init() {}

    init(turn: Duration, interval: Duration, pauses: ClosedRange<Duration>) {
        (self.turn, self.interval, self.pauses) = (turn, interval, pauses)
    }
}

/// One thread that a pool has borrowed, with the jobs that it started and has not run yet.
///
/// Decisions only; the pool acts.
struct BorrowedThread {
    private struct Loan {
        let thread = pthread_self()
        let adopt: @Sendable () -> Bool
        var jobs = Queue<PoolJob>()
        /// It was there at the last check.
        var wasSeen = false
    }

    private var loan: Loan?
    private var isClosedUntil: UInt64 = 0
    /// A thread that blocks before that time does so soon after the last one.
    private var isSoonUntil: UInt64 = 0
    /// Some were borrowed since the last check.
    private var wereBorrowed = false
    private(set) var isWatched = false
    private let pauses: ClosedRange<Duration>
    private var pause: Duration

    init(pauses: ClosedRange<Duration>) {
        self.pauses = pauses
        pause = pauses.lowerBound
    }

    /// Whether the calling thread is the borrowed one.
    var isHere: Bool { loan?.thread == pthread_self() }

    /// Whether the calling thread is the borrowed one and has jobs.
    var hasJobs: Bool { isHere && loan?.jobs.isEmpty == false }

    /// Borrows the calling thread; false when that is not possible.
    ///
    /// - Parameter now: as in ``MonotonicTime/now``.
    mutating func take(at now: UInt64, adopt: @escaping @Sendable () -> Bool) -> Bool {
        guard loan == nil, now >= isClosedUntil else { return false }
        loan = Loan(adopt: adopt)
        wereBorrowed = true
        return true
    }

    /// A check is wanted; false when one is scheduled already.
    mutating func beginWatch() -> Bool {
        defer { isWatched = true }
        return !isWatched
    }

    /// Takes a job of the borrowed thread; false when the calling thread is another.
    mutating func append(_ job: PoolJob) -> Bool {
        guard isHere else { return false }
        loan?.jobs.append(job)
        return true
    }

    /// The borrowed thread's next job; nil when it has none, or is not borrowed any more.
    mutating func next() -> PoolJob? { isHere ? loan?.jobs.popFirst() : nil }

    /// Ends the loan; the jobs that did not run, or nil when the pool has adopted the thread.
    mutating func giveBack() -> Queue<PoolJob>? {
        guard isHere else { return nil }
        defer { loan = nil }
        return loan?.jobs
    }

    /// Checks whether the thread is blocked: one that was there at the last check too is, and is adopted.
    mutating func check(at now: UInt64) -> (jobs: Queue<PoolJob>, adopt: @Sendable () -> Bool)? {
        if let loan, loan.wasSeen {
            self.loan = nil
            pause = now < isSoonUntil ? min(pause * 2, pauses.upperBound) : pauses.lowerBound
            isClosedUntil = MonotonicTime.after(pause, from: now)
            isSoonUntil = MonotonicTime.after(pause * 10, from: now)
            isWatched = false
            return (loan.jobs, loan.adopt)
        }
        loan?.wasSeen = true
        isWatched = wereBorrowed || loan != nil
        wereBorrowed = false
        return nil
    }
}
#endif
