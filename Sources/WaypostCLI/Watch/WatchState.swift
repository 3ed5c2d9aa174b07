import Threading
import Waypost

/// What is known while watching, shared by the tasks that learn something and the one that draws it.
///
/// There is no queue between them: however much has changed, one signal is enough.
final class WatchState: Sendable {
    struct Content: Sendable {
        var model: WatchModel
        var view = WatchView()
    }

    /// An element whenever something has changed since the last one was taken; for one reader.
    let changes: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let guarded: Guarded<Content>

    init(_ model: WatchModel) {
        guarded = Guarded(Content(model: model))
        (changes, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    var content: Content { guarded.withLock { $0 } }

    func change(_ change: (inout Content) -> Void) {
        guarded.withLock(change)
        redraw()
    }

    /// The terminal has another size, or it is time to look at the clock.
    func redraw() { signal.yield() }

    func end() { change { $0.view.end() } }
}
