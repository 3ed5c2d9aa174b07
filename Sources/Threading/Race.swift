/// The first of several results; later ones are dropped.
///
/// Public for the same reason as ``Guarded``: opens wait for one, and only then is it specialised in other modules.
public final class Race<Value: Sendable>: Sendable {
    @usableFromInline struct State: Sendable {
        @usableFromInline var first: Value?
        @usableFromInline var waiting: CheckedContinuation<Value, Never>?

        @inlinable init() {}
    }

    @usableFromInline let state = Guarded(State())

    /// A race without a result.
    @inlinable
    public init() {}

    /// The first result so far.
    @inlinable
    public var first: Value? { state.withLock { $0.first } }

    /// Gives a result.
    @inlinable
    public func finish(_ value: Value) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, Never>? in
            guard state.first == nil else { return nil }
            state.first = value
            return state.waiting.take()
        }
        waiting?.resume(returning: value)
    }

    /// Finishes with that value after a while; the function that is returned takes it back.
    package func finish(
        _ value: Value, after delay: Duration, on clock: any Clock<Duration>
    ) -> @Sendable () -> Void {
        let call = DelayedCall(after: delay, on: clock) { self.finish(value) }
        return { call.cancel() }
    }

    /// Waits for the first result; called once.
    @inlinable
    nonisolated(nonsending) public func outcome() async -> Value {
        await withCheckedContinuation { continuation in
            let first = state.withLock { state -> Value? in
                if state.first == nil { state.waiting = continuation }
                return state.first
            }
            if let first { continuation.resume(returning: first) }
        }
    }
}
