#if canImport(Glibc)
import Glibc

/// Threads that run tasks and that no other tasks use; `Task(executorPreference: pool) { … }` runs on them.
///
/// A thread of the pool that all tasks share is missing there while a task blocks it. Here more are started when
/// those that run make no progress, up to a limit. They end when there is nothing to do for a while.
///
/// The pool may borrow a thread to run what that thread starts (`runHere`): what ends soon needs no change of thread.
package final class ThreadPool: TaskExecutor {
    struct State {
        var jobs: FairQueue<PoolJob>
        var threads = 0
        /// How often they were renewed.
        var generation = 0
        /// Threads that wait and were not woken yet.
        var idle = 0
        /// Wake-ups that no thread has taken yet.
        var wakeUps = 0
        /// Jobs taken since the last look.
        var taken = 0
        var isWatched = false
        var isExhausted = false
        var stuckOwners: [String] = []
        var borrowed: BorrowedThread
    }

    /// When a thread that has nothing to do ends: after the regular work, every 10 s, has come twice.
    private static let idleTime = Duration.seconds(25)
    /// How long jobs may wait without any progress before there are more threads.
    private static let patience = Duration.milliseconds(50)
    package let name: String
    private let usual: Int
    /// How many threads there are at the most.
    package let limit: Int
    let borrowingTimes: BorrowingTimes
    let state: Monitor<State>

    /// - Parameters:
    ///   - name: the threads' name, at most 15 bytes.
    ///   - usual: how many threads are started without a wait.
    ///   - limit: how many there are at the most.
    ///   - share: how many of them one ``PoolShare`` has at the most; all unless set.
    package init(
        name: String, usual: Int, limit: Int, share: Int? = nil,
        borrowing times: BorrowingTimes = BorrowingTimes()
    ) {
        borrowingTimes = times
        state = Monitor(
            State(jobs: FairQueue(share: share ?? limit), borrowed: BorrowedThread(pauses: times.pauses)))
        self.name = name
        self.usual = max(1, min(usual, limit))
        self.limit = max(1, limit)
    }

    /// How many threads can run at a time.
    package static var processors: Int {
        Scheduling.scheduler?.processors ?? sysconf(Int32(_SC_NPROCESSORS_ONLN))
    }

    /// Whether jobs wait, and all threads that there may be made no progress at the last look.
    package var isExhausted: Bool { state.withLock { ($0.isExhausted, wakes: false) } }

    /// The owners whose jobs waited for others of theirs at the last look, and made no progress.
    package var stuckOwners: [String] { state.withLock { ($0.stuckOwners, wakes: false) } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = PoolJob(job: UnownedJob(job), share: nil)
        Scheduling.undisturbed { add(job, mayRunOnBorrowed: true) }
    }

    func add(_ job: PoolJob, mayRunOnBorrowed: Bool = false) {
        change { state in
            // A borrowed thread that blocks is adopted, and counts like any other thread.
            if mayRunOnBorrowed, state.jobs.hasSpace(for: job.owner), state.borrowed.append(job) {
                return false
            }
            state.jobs.append(job, of: job.owner)
            return true
        }
    }

    /// Lets a thread take a job when `body` says that there may be one more.
    func change(_ body: (inout State) -> Bool) {
        let (starts, watches) = state.withLock { state -> ((Bool, Bool), wakes: Bool) in
            guard body(&state) else { return ((false, false), wakes: false) }
            if !state.jobs.isEmpty {
                if state.idle > 0 {
                    state.idle -= 1
                    state.wakeUps += 1
                    return ((false, false), wakes: true)
                }
                if state.threads < usual {
                    state.threads += 1
                    return ((true, false), wakes: false)
                }
            }
            defer { state.isWatched = true }
            return ((false, !state.isWatched), wakes: false)
        }
        if starts { startThreads(1) }
        if watches { lookSoon() }
    }

    private func startThreads(_ count: Int) {
        for started in 0..<count
        where PlainThread.start(name: name, { self.run() }) != nil {
            let watches = state.withLock { state in
                state.threads -= count - started
                defer { state.isWatched = true }
                return (!state.isWatched, wakes: false)
            }
            if watches { lookSoon() }
            return
        }
    }

    func run() {
        let generation = state.withLock { ($0.generation, wakes: false) }
        var last: String?
        while let job = nextJob(generation, after: last) {
            job.run(on: self)
            last = job.owner
        }
    }

    /// Lets other threads take the place of those there are, each once it has nothing to do.
    ///
    /// What a thread has freed it keeps for itself until it ends.
    package func renewThreads() { state.withLock { ($0.generation += 1, wakes: false) } }

    /// Waits for a job, after one of `last` has ended; nil when the thread must end.
    private func nextJob(_ generation: Int, after last: String?) -> PoolJob? {
        var isIdle = false
        var last = last
        let limit = MonotonicTime.after(Self.idleTime)
        return state.wait { state, isTimeUp in
            if isIdle {
                // Who wakes a thread has counted it out already.
                if state.wakeUps > 0 { state.wakeUps -= 1 } else { state.idle -= 1 }
                isIdle = false
            }
            state.jobs.ended(last)
            last = nil
            if let job = state.jobs.popFirst() {
                state.taken += 1
                return .end(job)
            }
            state.isExhausted = false
            if isTimeUp || state.generation != generation {
                state.threads -= 1
                return .end(nil)
            }
            state.idle += 1
            isIdle = true
            return .wait(until: limit)
        }
    }

    // MARK: Growth

    private func lookSoon() {
        _ = TimerThread.shared.call(after: Self.patience) { [weak self] in self?.look() }
    }

    /// Starts more threads when jobs wait and none was taken since the last look.
    private func look() {
        let (more, goesOn) = state.withLock { state -> ((Int, Bool), wakes: Bool) in
            let isStuck = state.taken == 0 && !state.jobs.isEmpty
            state.taken = 0
            let (someWait, stuck) = state.jobs.look()
            state.stuckOwners = stuck
            state.isWatched = !state.jobs.isEmpty || someWait
            state.isExhausted = isStuck && state.threads >= limit
            // Twice as many each time: a few more for one handler that blocks, and soon enough for a hundred.
            let more = isStuck ? min(state.jobs.count, max(1, state.threads), limit - state.threads) : 0
            state.threads += more
            return ((more, state.isWatched), wakes: false)
        }
        startThreads(more)
        if goesOn { lookSoon() }
    }
}
#endif
