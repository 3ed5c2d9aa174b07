#if canImport(Glibc)
extension ThreadPool {
    /// Whether the pool has borrowed the calling thread.
    package var isOnBorrowedThread: Bool { state.withLock { ($0.borrowed.isHere, wakes: false) } }

    /// Runs `body`, and the jobs that it starts, on the calling thread for as long as that takes a moment only.
    ///
    /// When one of them blocks, the pool adopts the thread: it is one of its own then, and the call returns when it has
    /// nothing to do any more. After that no thread is borrowed for a while, and all jobs go to the pool.
    ///
    /// - Parameters:
    ///   - whenIdle: called when no job is left, and at the end; it may start more.
    ///   - adopt: tells the lender, from another thread, to go on without it; false when it must be called again.
    package func runHere(_ body: () -> Void, whenIdle: () -> Void, adopt: @escaping @Sendable () -> Bool) {
        let isBorrowed = borrow(adopt)
        body()
        guard isBorrowed else { return }
        let end = MonotonicTime.after(borrowingTimes.turn)
        repeat {
            while MonotonicTime.now < end, let job = nextOnBorrowed() {
                job.run(on: self)
                // It may have been adopted meanwhile: others of its owner may have waited for its thread.
                ended(job.owner)
            }
            whenIdle()
        } while MonotonicTime.now < end && state.withLock { ($0.borrowed.hasJobs, wakes: false) }
        if let left = giveBack() {
            for job in left { add(job) }
        } else {
            PlainThread.setName(name)
            run()
        }
    }

    private func nextOnBorrowed() -> PoolJob? {
        state.withLock { state in
            let job = state.borrowed.next()
            state.jobs.began(job?.owner)
            return (job, wakes: false)
        }
    }

    private func ended(_ owner: String?) {
        guard let owner else { return }
        change { state in
            let before = state.jobs.isEmpty
            state.jobs.ended(owner)
            return before && !state.jobs.isEmpty
        }
    }

    private func borrow(_ adopt: @escaping @Sendable () -> Bool) -> Bool {
        let (borrows, mustWatch) = state.withLock { state in
            let borrows = state.threads < limit && state.borrowed.take(at: MonotonicTime.now, adopt: adopt)
            if borrows { state.threads += 1 }
            return ((borrows, borrows && state.borrowed.beginWatch()), wakes: false)
        }
        if mustWatch { checkBorrowedSoon() }
        return borrows
    }

    /// The jobs that the thread has not run; nil when it was adopted.
    private func giveBack() -> Queue<PoolJob>? {
        state.withLock { state in
            let left = state.borrowed.giveBack()
            if left != nil { state.threads -= 1 }
            return (left, wakes: false)
        }
    }

    private func checkBorrowedSoon() {
        TimerThread.shared.call(after: borrowingTimes.interval) { [weak self] in self?.checkBorrowed() }
    }

    private func checkBorrowed() {
        let (adopted, goesOn) = state.withLock { state in
            let adopted = state.borrowed.check(at: MonotonicTime.now)
            return ((adopted, state.borrowed.isWatched), wakes: false)
        }
        if goesOn { checkBorrowedSoon() }
        guard let adopted else { return }
        tell(adopted.adopt)
        for job in adopted.jobs { add(job) }
    }

    private func tell(_ adopt: @escaping @Sendable () -> Bool) {
        if !adopt() { TimerThread.shared.call(after: borrowingTimes.interval) { self.tell(adopt) } }
    }
}
#endif
