import Threading

/// Asks the broker for signs of life while the delegate has the loop's thread, as for a commit on a disk that hangs.
///
/// The loop's thread comes back through the lock, so that the handle is used by one thread at a time.
final class StandIn: Sendable {
    fileprivate struct State {
        /// Until ``StandIn/end()`` only used behind the lock.
        var handle: ClientHandle?
        /// What it could not write of a PINGREQ.
        var rest: [UInt8] = []
        /// How often the thread was away.
        var absences = 0
        var isWatching = false
    }

    private let state = Guarded(State())

    /// The loop's thread is about to go to the delegate.
    ///
    /// - Parameter interval: how long it may be away before a PINGREQ is written, and after each.
    func begin(for handle: ClientHandle, every interval: Duration) {
        let mustWatch = state.withLock { state in
            state.handle = handle
            state.absences += 1
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if mustWatch { look(since: nil, every: interval) }
    }

    /// It is back; returns what must be written before anything else.
    func end() -> [UInt8] {
        state.withLock { state in
            defer { state.rest = [] }
            state.handle = nil
            return state.rest
        }
    }

    /// Looks at regular times for as long as the thread is away at some of them.
    private func look(since absence: Int?, every interval: Duration) {
        TimerThread.shared.call(after: interval) { [weak self] in
            guard let self else { return }
            let (goesOn, now) = state.withLock { state in
                if state.absences == absence { state.ping() }
                state.isWatching = state.handle != nil || state.absences != absence
                return (state.isWatching, state.absences)
            }
            if goesOn { look(since: now, every: interval) }
        }
    }
}

extension StandIn.State {
    fileprivate mutating func ping() {
        guard let handle, rest.isEmpty else { return }
        let request = [FrameGuard.pingRequest << 4, 0]
        switch handle.send(request) {
        case .bytes(let count): rest = Array(request.dropFirst(count))
        case .wouldBlock: rest = request
        // The loop finds the end.
        case .over: break
        }
    }
}
