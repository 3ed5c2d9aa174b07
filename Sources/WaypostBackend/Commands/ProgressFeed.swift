import Threading
import Waypost

/// How far a command is, or when it begins, for all who look; what is not taken in time gives way to what is newer.
final class ProgressFeed: Sendable {
    private struct State {
        var readers: [AsyncStream<HandlerProgress>.Continuation] = []
        var last: HandlerProgress?
        var isOver = false
        var begins: Int64?
    }

    /// The most that waits to be read.
    private static let buffer = 16

    private let state = Guarded(State())

    /// When the command begins, in milliseconds since 1970, where it waits for its time and its agent said so.
    var begins: Int64? { state.withLock(\.begins) }

    func begins(at time: Int64) { state.withLock { $0.begins = time } }

    /// What is known now and what comes, until the command has ended.
    func stream() -> AsyncStream<HandlerProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: HandlerProgress.self, bufferingPolicy: .bufferingNewest(Self.buffer))
        let (last, isOver) = state.withLock { state in
            if !state.isOver { state.readers.append(continuation) }
            return (state.last, state.isOver)
        }
        if let last { continuation.yield(last) }
        if isOver { continuation.finish() }
        return stream
    }

    func yield(_ progress: HandlerProgress) {
        // The same comes once for each filter that it fits.
        let readers = state.withLock { state in
            defer { state.last = progress }
            return state.last == progress ? [] : state.readers
        }
        for reader in readers { reader.yield(progress) }
    }

    func finish() {
        let readers = state.withLock { state in
            defer { (state.readers, state.isOver) = ([], true) }
            return state.readers
        }
        for reader in readers { reader.finish() }
    }
}
