import Threading
import Waypost

/// Passes values from any thread to one task, in order; the task takes all that wait at once.
///
/// The reader gets batches, so that work which costs per turn, such as a commit, is paid once for many values.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var reader: CheckedContinuation<Void, Never>?
        var isClosed = false
        /// Patient values wait, and the reader is to be woken when their time is over.
        var isTimed = false
    }

    /// How long a patient value waits for others.
    private static var patience: Duration { .milliseconds(50) }
    /// So many patient values do not wait any longer.
    private static var patientLimit: Int { 256 }

    private let state = Guarded(State())

    /// Sends a value; false when the mailbox is closed.
    ///
    /// - Parameter isPatient: Whether it may wait a moment for another, with which it is taken.
    @discardableResult
    func send(_ element: Element, isPatient: Bool = false) -> Bool {
        var (mustWake, mustTime) = (false, false)
        let isSent = state.withLock { state in
            guard !state.isClosed else { return false }
            state.waiting.append(element)
            mustWake = !isPatient || state.waiting.count >= Self.patientLimit
            mustTime = !mustWake && !state.isTimed
            if mustTime { state.isTimed = true }
            return true
        }
        if mustWake { wakeReader() }
        if mustTime {
            TimerThread.shared.call(after: Self.patience) {
                self.state.withLock { $0.isTimed = false }
                self.wakeReader()
            }
        }
        return isSent
    }

    /// Lets the reader take what is there and then end.
    func close() {
        state.withLock { $0.isClosed = true }
        wakeReader()
    }

    private func wakeReader() {
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            // It may have taken all in the meantime.
            guard !state.waiting.isEmpty || state.isClosed else { return nil }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    /// Everything that was sent since the last call, waiting for the first; nil when closed and empty.
    func next() async -> [Element]? {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state -> Bool in
                guard state.waiting.isEmpty, !state.isClosed else { return true }
                state.reader = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
        return state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}

extension Array {
    /// The elements in runs of at most `size`, in order.
    func chunks(_ size: Int) -> some Sequence<ArraySlice<Element>> {
        sequence(state: self[...]) { rest in
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size)
        }
    }
}
