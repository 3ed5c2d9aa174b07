import Threading

/// What comes from agents, one element after another, over lost connections.
///
/// So many elements wait for a slow reader, and no more: then the oldest are dropped, and ``dropped`` counts them.
public struct BackendStream<Element: Sendable>: AsyncSequence, Sendable {
    /// Takes one element after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<Element, any Error>.Iterator

        /// The next element; nil when the task is cancelled.
        ///
        /// - Throws: ``BackendError`` when the broker does not allow it.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(any Error) -> Element? {
            try await base.next(isolation: actor)
        }

        /// The next element, see ``next(isolation:)``.
        public mutating func next() async throws -> Element? { try await next(isolation: #isolation) }
    }

    private let stream: AsyncThrowingStream<Element, any Error>
    private let drops: Drops

    fileprivate final class Drops: Sendable {
        private let count = Guarded(0)
        var value: Int { count.withLock { $0 } }
        func add(_ number: Int) { count.withLock { $0 += number } }
    }

    /// - Parameter feed: Hands over elements until that returns false, or it is cancelled.
    init(
        buffer: Int,
        _ feed: @escaping @Sendable (_ element: @escaping @Sendable (Element) -> Bool) async throws -> Void
    ) {
        let drops = Drops()
        self.drops = drops
        stream = AsyncThrowingStream(bufferingPolicy: .bufferingNewest(Swift.max(1, buffer))) {
            continuation in
            let task = Task {
                do {
                    try await feed { element in
                        switch continuation.yield(element) {
                        case .dropped: drops.add(1)
                        case .terminated: return false
                        default: break
                        }
                        return true
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error is CancellationError ? nil : error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// How many elements were dropped because the reader was too slow.
    public var dropped: Int { drops.value }

    /// An iterator; of one stream only one may be in use.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: stream.makeAsyncIterator()) }
}
