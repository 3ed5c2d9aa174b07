import DequeModule
import Threading
import Waypost

extension ThreadPool {
    /// Whether the calling thread is a guest.
    var isGuestHere: Bool { state.withLock { ($0.seat.isHere, wakes: false) } }

    /// Runs `body`, and the jobs that it starts, on the calling thread for as long as that takes a moment only.
    ///
    /// When one of them blocks, the pool keeps the thread: it is one of its own then, and the call returns when it has
    /// nothing to do any more. After that no thread is taken for a while, and all jobs go to the pool.
    ///
    /// - Parameters:
    ///   - whenIdle: called when no job is left, and at the end; it may start more.
    ///   - keep: tells who lent the thread to do without it, from another thread; false when it is to be asked again.
    func runHere(_ body: () -> Void, whenIdle: () -> Void, keep: @escaping @Sendable () -> Bool) {
        let isGuest = sit(keep)
        body()
        guard isGuest else { return }
        let end = MonotonicTime.after(guestTimes.turn)
        repeat {
            while MonotonicTime.now < end, let job = nextOfGuest() {
                job.run(on: self)
                // It may have been kept meanwhile: others of its owner may have waited for its thread.
                ended(job.owner)
            }
            whenIdle()
        } while MonotonicTime.now < end && state.withLock { ($0.seat.hasJobs, wakes: false) }
        if let left = leave() {
            for job in left { add(job) }
        } else {
            PlainThread.setName(name)
            run()
        }
    }

    private func nextOfGuest() -> PoolJob? {
        state.withLock { state in
            let job = state.seat.next()
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

    private func sit(_ keep: @escaping @Sendable () -> Bool) -> Bool {
        let (sits, mustWatch) = state.withLock { state in
            let sits = state.threads < limit && state.seat.take(at: MonotonicTime.now, keep: keep)
            if sits { state.threads += 1 }
            return ((sits, sits && state.seat.mustWatch()), wakes: false)
        }
        if mustWatch { lookAtGuestSoon() }
        return sits
    }

    /// What the guest has not run; nil when it was kept.
    private func leave() -> Deque<PoolJob>? {
        state.withLock { state in
            let left = state.seat.leave()
            if left != nil { state.threads -= 1 }
            return (left, wakes: false)
        }
    }

    private func lookAtGuestSoon() {
        TimerThread.shared.call(after: guestTimes.look) { [weak self] in self?.lookAtGuest() }
    }

    private func lookAtGuest() {
        let (kept, goesOn) = state.withLock { state in
            let kept = state.seat.look(at: MonotonicTime.now)
            return ((kept, state.seat.isWatched), wakes: false)
        }
        if goesOn { lookAtGuestSoon() }
        guard let kept else { return }
        tell(kept.keep)
        for job in kept.jobs { add(job) }
    }

    private func tell(_ keep: @escaping @Sendable () -> Bool) {
        if !keep() { TimerThread.shared.call(after: guestTimes.look) { self.tell(keep) } }
    }
}
