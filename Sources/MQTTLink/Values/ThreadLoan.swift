import Threading

/// The link's thread, lent to its delegate for as long as one call lasts.
///
/// Work that ends soon needs no other thread then; for work that does not, the delegate keeps this one, and the link
/// goes on with another.
public final class ThreadLoan: Sendable {
    private enum State { case lent, kept, returned }

    private let state = Guarded(State.lent)
    private let goOnElsewhere: @Sendable () -> Bool

    /// - Parameter goOnElsewhere: starts another thread for the link; false when the system has none.
    package init(goOnElsewhere: @escaping @Sendable () -> Bool) { self.goOnElsewhere = goOnElsewhere }

    /// Keeps the thread, unless the call has returned; from any thread.
    ///
    /// - Returns: False when the system has no other thread for the link: it waits on, and this may be tried again.
    public func keep() -> Bool {
        state.withLock { state in
            if case .lent = state, goOnElsewhere() { state = .kept }
            if case .lent = state { return false }
            return true
        }
    }

    /// The call has returned; false when the thread was kept, and another is in the link by now.
    package func end() -> Bool {
        state.withLock { state in
            if case .kept = state { return false }
            state = .returned
            return true
        }
    }
}
