/// Calls functions at their time, on one thread for all deadlines of the process.
///
/// Not a sleeping task for each: a task wakes on a thread of the pool, and handlers that block may have taken all of
/// them. What is called must return at once: it resumes a task, or starts one.
package final class TimerThread: Sendable {
    /// The one of this process.
    package static let shared = TimerThread()

    #if canImport(Glibc) || canImport(Musl)
    /// A call that is still to come.
    package struct Call: Sendable {
        fileprivate let number: UInt64

        /// Takes it back; does nothing when it was made already.
        package func cancel() { TimerThread.shared.cancel(self) }
    }

    private let state = Monitor(TimerQueue())
    private let isRunning = Guarded(false)
    private let mustRenew = Guarded(false)

    private init() {}

    /// Calls `body` once, after that time; the time for which the machine is suspended does not count.
    @discardableResult
    package func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> Call {
        let time = MonotonicTime.after(delay)
        let number = state.withLock { $0.add(body, at: time) }
        start()
        return Call(number: number)
    }

    private func cancel(_ call: Call) {
        // Freed outside the lock, for it may free more.
        let body = state.withLock { ($0.remove(call.number), wakes: false) }
        _ = body
    }

    /// The calls that are still to come.
    package var count: Int { state.withLock { ($0.count, wakes: false) } }

    /// Starts the thread, unless it runs; without one the calls wait, and the next one tries again.
    private func start() {
        isRunning.withLock { isRunning in
            guard !isRunning else { return }
            isRunning = startThread()
        }
    }

    private func startThread() -> Bool { PlainThread.start(name: "wp-timer") { self.run() } == nil }

    /// Lets another thread take the place of this one once something is due.
    ///
    /// What a thread has freed it keeps for itself until it ends.
    package func renewThread() { mustRenew.withLock { $0 = true } }

    private func run() {
        while true {
            let due = state.wait { state, _ -> Monitor<TimerQueue>.Step<[TimerQueue.Body]> in
                let due = state.takeDue(at: MonotonicTime.now)
                return due.isEmpty ? .wait(until: state.nextTime) : .end(due)
            }
            for body in due { body() }
            let isRenewed = mustRenew.withLock { mustRenew in
                defer { mustRenew = false }
                return mustRenew && startThread()
            }
            if isRenewed { return }
        }
    }
    #else
    /// A call that is still to come.
    package struct Call: Sendable {
        fileprivate let task: Task<Void, Never>

        /// Takes it back; does nothing when it was made already.
        package func cancel() { task.cancel() }
    }

    private init() {}

    /// Calls `body` once, after that time.
    @discardableResult
    package func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> Call {
        Call(
            task: Task {
                if (try? await Task.sleep(for: delay)) != nil { body() }
            })
    }

    /// Does nothing: there is no thread.
    package func renewThread() {}
    #endif

    /// Waits that long, or until the task is cancelled.
    nonisolated(nonsending) package func sleep(for delay: Duration) async {
        let race = Race<Void>()
        let call = call(after: delay) { race.finish(()) }
        await withTaskCancellationHandler {
            await race.outcome()
        } onCancel: {
            Scheduling.undisturbed { race.finish(()) }
        }
        call.cancel()
    }
}
