import Threading
import Waypost

/// Signals once that the agent must stop, to everything that waits for it.
final class ShutdownSignal: Sendable {
    private struct State {
        var isRequested = false
        var next = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Guarded(State())

    func request() {
        let waiting = state.withLock { state in
            state.isRequested = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for ``request()``, also in a task that is cancelled: a stop that is asked for by cancelling takes its
    /// time too.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isRequested { return true }
                state.next += 1
                state.waiting[state.next] = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Waits for ``request()``, or until the task is cancelled.
    private func waitUnlessCancelled() async {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isRequested || Task.isCancelled { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }

    /// Waits for `work`, but no longer than `limit`, and no longer than until the agent is to stop.
    ///
    /// What is late goes on in the background: nothing that hangs may delay a start or a stop.
    static func wait(
        atMost limit: Duration, orUntil shutdown: ShutdownSignal? = nil,
        for work: @escaping @Sendable () async -> Void
    ) async {
        let done = ShutdownSignal()
        AgentThreads.start {
            await work()
            done.request()
        }
        let timer = TimerThread.shared.call(after: limit) { done.request() }
        let stop = shutdown.map { shutdown in
            AgentThreads.start {
                await shutdown.waitUnlessCancelled()
                done.request()
            }
        }
        await done.wait()
        timer.cancel()
        stop?.cancel()
    }
}
