import Waypost

/// Hands values from any thread to one task, in order and all that is there at once.
///
/// The reader gets batches, so that work which costs per turn, such as a commit, is paid once for many values.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var waiting: [Element] = []
        var reader: CheckedContinuation<Void, Never>?
        var isClosed = false
    }

    private let state = Guarded(State())

    func send(_ element: Element) { send(contentsOf: CollectionOfOne(element)) }

    func send(contentsOf elements: some Collection<Element>) {
        guard !elements.isEmpty else { return }
        let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isClosed else { return nil }
            state.waiting.append(contentsOf: elements)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
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
