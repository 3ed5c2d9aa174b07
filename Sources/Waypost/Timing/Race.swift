import Threading

/// The first of several results; later ones are dropped.
final class Race<Value: Sendable>: Sendable {
    private struct State {
        var first: Value?
        var waiting: CheckedContinuation<Value, Never>?
    }

    private let state = Guarded(State())

    /// The first result so far.
    var first: Value? { state.withLock { $0.first } }

    func finish(_ value: Value) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, Never>? in
            guard state.first == nil else { return nil }
            state.first = value
            return state.waiting.take()
        }
        waiting?.resume(returning: value)
    }

    /// Finishes with that value after a while; the function that is returned takes it back.
    func finish(_ value: Value, after delay: Duration, on clock: any Clock<Duration>) -> @Sendable () -> Void
    {
        let call = DelayedCall(after: delay, on: clock) { self.finish(value) }
        return { call.cancel() }
    }

    /// Waits for the first result; called once.
    nonisolated(nonsending) func outcome() async -> Value {
        await withCheckedContinuation { continuation in
            let first = state.withLock { state -> Value? in
                if state.first == nil { state.waiting = continuation }
                return state.first
            }
            if let first { continuation.resume(returning: first) }
        }
    }
}
