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
    /// The agents whose pages were opened, to be asked how they are; for one reader.
    let opened: AsyncStream<String>
    private let opening: AsyncStream<String>.Continuation
    private let guarded: Guarded<Content>

    init(_ model: WatchModel) {
        guarded = Guarded(Content(model: model))
        (changes, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (opened, opening) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(1))
    }

    var content: Content { guarded.withLock { $0 } }

    func change(_ change: (inout Content) -> Void) {
        let agent: String? = guarded.withLock { content in
            let before = content.view.page
            change(&content)
            guard case .agent(let agent) = content.view.page, content.view.page != before else { return nil }
            return agent
        }
        if let agent { opening.yield(agent) }
        redraw()
    }

    /// The terminal has another size, or it is time to look at the clock.
    func redraw() { signal.yield() }

    func end() { change { $0.view.end() } }
}
