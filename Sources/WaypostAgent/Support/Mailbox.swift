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
    }

    private let state = Guarded(State())

    /// Sends a value; false when the mailbox is closed.
    @discardableResult
    func send(_ element: Element) -> Bool {
        let (isSent, reader) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard !state.isClosed else { return (false, nil) }
            state.waiting.append(element)
            defer { state.reader = nil }
            return (true, state.reader)
        }
        reader?.resume()
        return isSent
    }

    /// Lets the reader take what is there and then end.
    func close() {
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isClosed = true
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
