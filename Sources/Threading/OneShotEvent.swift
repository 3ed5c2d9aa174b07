/// An event that happens once, for instance that an agent must stop; who waits for it, or comes later, goes on.
package final class OneShotEvent: Sendable {
    private struct State {
        var hasFired = false
        var next = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Guarded(State())

    package init() {}

    package func fire() {
        let waiting = state.withLock { state in
            state.hasFired = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for ``fire()``, also in a task that is cancelled: a stop requested by cancelling takes its time
    /// too.
    package func wait() async { await wait(orUntil: { false }) }

    /// Waits for ``fire()``, or until the task is cancelled.
    package func waitUnlessCancelled() async {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        await withTaskCancellationHandler {
            await wait(as: id, orUntil: { Task.isCancelled })
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
        }
    }

    private func wait(as id: Int? = nil, orUntil isOver: () -> Bool) async {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if state.hasFired || isOver() { return true }
                if id == nil { state.next += 1 }
                state.waiting[id ?? state.next] = continuation
                return false
            }
            if goesOn { continuation.resume() }
        }
    }
}
