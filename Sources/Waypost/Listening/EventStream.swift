import Synchronization

/// Events one after another, for one reader that takes its time.
///
///     for await opening in router.openings() { show(opening) }
///
/// It begins when it is made, keeps the order, and holds a limited number of events that the reader has not taken: of
/// more than that the oldest are dropped, and counted. It ends when the reading task is cancelled, or when the stream is
/// let go of.
public struct EventStream<Event: Sendable>: AsyncSequence, Sendable {
    private final class Drops: Sendable {
        let count = Atomic(0)
    }

    private let stream: AsyncStream<Event>
    private let drops: Drops

    /// - Parameter observe: Adds a listener.
    init(buffering limit: Int, _ observe: (@escaping @Sendable (Event) -> Void) -> RegistrationHandle) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Swift.max(1, limit)))
        let drops = Drops()
        let handle = observe { event in
            guard case .dropped = continuation.yield(event) else { return }
            drops.count.add(1, ordering: .relaxed)
        }
        continuation.onTermination = { _ in handle.cancel() }
        self.stream = stream
        self.drops = drops
    }

    /// How many events were dropped so far, because they were not taken in time.
    public var dropped: Int { drops.count.load(ordering: .relaxed) }

    /// Takes the events.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<Event>.Iterator

        /// The next event; nil at the end.
        public mutating func next() async -> Event? { await base.next() }

        /// The next event; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Event? {
            await base.next(isolation: actor)
        }
    }

    /// An iterator; a stream has one reader.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: stream.makeAsyncIterator()) }
}
