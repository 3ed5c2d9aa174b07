/// A value that comes once; any number of tasks wait for it, and who comes later has it at once.
package final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var last = 0
        var waiting: [Int: CheckedContinuation<Value?, Never>] = [:]
    }

    private let state = Guarded(State())

    package init() {}

    /// Gives the value; only the first one counts.
    package func fulfill(_ value: Value) {
        let waiting = state.withLock { state in
            if state.value == nil { state.value = value }
            defer { state.waiting = [:] }
            return state.waiting.values.map { ($0, state.value) }
        }
        for (continuation, value) in waiting { continuation.resume(returning: value) }
    }

    /// Waits for the value.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before it comes.
    package func value() async throws(CancellationError) -> Value {
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        let value = await withTaskCancellationHandler {
            await wait(as: id, unless: { Task.isCancelled })
        } onCancel: {
            Scheduling.undisturbed {
                state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(returning: nil)
            }
        }
        guard let value else { throw CancellationError() }
        return value
    }

    /// Waits for the value, also in a task that is cancelled; nil never comes.
    fileprivate func valueAnyway() async -> Value? {
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        return await wait(as: id, unless: { false })
    }

    private func wait(as id: Int, unless isOver: () -> Bool) async -> Value? {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state -> Value?? in
                if let value = state.value { return .some(value) }
                if isOver() { return .some(nil) }
                state.waiting[id] = continuation
                return nil
            }
            if let end { continuation.resume(returning: end) }
        }
    }
}

/// An event that happens once, for instance that an agent must stop; who waits for it, or comes later, goes on.
package final class OneShotEvent: Sendable {
    private let promise = Promise<Void>()

    package init() {}

    package func fire() { promise.fulfill(()) }

    /// Waits for ``fire()``, also in a task that is cancelled: a stop requested by cancelling takes its time
    /// too.
    package func wait() async { _ = await promise.valueAnyway() }

    /// Waits for ``fire()``, or until the task is cancelled.
    package func waitUnlessCancelled() async { _ = try? await promise.value() }
}
