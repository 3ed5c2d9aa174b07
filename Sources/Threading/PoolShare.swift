#if canImport(Glibc)
/// The part of a thread pool that one owner has: what `Task(executorPreference:)` starts on it runs on the pool's threads,
/// and on no more of them than the pool's share.
package final class PoolShare: TaskExecutor {
    package let owner: String
    private let pool: ThreadPool

    package init(of pool: ThreadPool, for owner: String) {
        self.pool = pool
        self.owner = owner
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = PoolJob(job: UnownedJob(job), share: self)
        Scheduling.undisturbed { pool.add(job, mayRunOnBorrowed: true) }
    }
}

/// A job of a task, and for whom it runs.
struct PoolJob {
    let job: UnownedJob
    /// Nil for work without an owner.
    let share: PoolShare?

    var owner: String? { share?.owner }

    func run(on pool: ThreadPool) {
        job.runSynchronously(on: share?.asUnownedTaskExecutor() ?? pool.asUnownedTaskExecutor())
    }
}
#endif
