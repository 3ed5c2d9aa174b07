import Threading
import Waypost

/// An event that happens once, for instance that the agent must stop; all that wait for it go on.
final class OneShotEvent: Sendable {
    private struct State {
        var hasFired = false
        var next = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Guarded(State())

    func fire() {
        let waiting = state.withLock { state in
            state.hasFired = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for ``fire()``, also in a task that is cancelled: a stop requested by cancelling takes its time
    /// too.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.hasFired { return true }
                state.next += 1
                state.waiting[state.next] = continuation
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Waits for ``fire()``, or until the task is cancelled.
    private func waitUnlessCancelled() async {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.hasFired || Task.isCancelled { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }

    /// Waits for `work`, but no longer than `limit`, and no longer than until the agent must stop.
    ///
    /// What is late goes on in the background: nothing that hangs may delay a start or a stop.
    static func wait(
        atMost limit: Duration, orUntil shutdown: OneShotEvent? = nil,
        for work: @escaping @Sendable () async -> Void
    ) async {
        let done = OneShotEvent()
        AgentThreads.start {
            await work()
            done.fire()
        }
        let timer = TimerThread.shared.call(after: limit) { done.fire() }
        let stop = shutdown.map { shutdown in
            AgentThreads.start {
                await shutdown.waitUnlessCancelled()
                done.fire()
            }
        }
        await done.wait()
        timer.cancel()
        stop?.cancel()
    }
}
