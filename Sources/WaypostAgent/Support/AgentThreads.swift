package import Threading

/// The threads for what the agent itself does: the journal, times, health, and all that waits.
///
/// Handlers run on others, so that none of this waits for a handler that blocks its thread. The process of an agent
/// begins on these too: once a task has run on the threads that all tasks share, libdispatch looks at them every second
/// for as long as the process lives, and that was most of what an idle agent did.
package enum AgentThreads {
    /// They block only for the disk; more than two are started when it stalls.
    package static let pool = ThreadPool(name: "wp-agent", usual: 2, limit: 8)

    /// For what watches the rest: it runs also when all others wait for a disk that hangs.
    static let watch = ThreadPool(name: "wp-watch", usual: 1, limit: 1)

    /// Starts work of the agent.
    @discardableResult
    static func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: pool) { await work() }
    }

    /// Waits that long, or until the task is cancelled.
    static func sleep(for duration: Duration) async { await TimerThread.shared.sleep(for: duration) }

    /// Waits for `work`, but no longer than `limit`, and no longer than until the agent must stop.
    ///
    /// What is late goes on in the background: nothing that hangs may delay a start or a stop.
    static func wait(
        atMost limit: Duration, orUntil shutdown: OneShotEvent? = nil,
        for work: @escaping @Sendable () async -> Void
    ) async {
        let done = OneShotEvent()
        start {
            await work()
            done.fire()
        }
        let timer = TimerThread.shared.call(after: limit) { done.fire() }
        let stop = shutdown.map { shutdown in
            start {
                await shutdown.waitUnlessCancelled()
                done.fire()
            }
        }
        await done.wait()
        timer.cancel()
        stop?.cancel()
    }
}
