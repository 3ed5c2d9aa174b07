import Threading

/// A closure that is called for each event: on the thread of the event, or on the actor that the closure belongs to.
struct Listener<Event: Sendable>: Sendable {
    let notify: @Sendable (Event) -> Void
    private let queue: ActorQueue<Event>?

    init(_ body: @escaping @isolated(any) @Sendable (Event) -> Void) {
        let plain = unisolated(listener: body)
        guard let actor = body.isolation else {
            (notify, queue) = (plain, nil)
            return
        }
        let queue = ActorQueue(actor, plain)
        self.queue = queue
        notify = { queue.add($0) }
    }

    private init(_ notify: @escaping @Sendable (Event) -> Void, _ queue: ActorQueue<Event>?) {
        (self.notify, self.queue) = (notify, queue)
    }

    /// The same for some of the events.
    func when(_ isMeant: @escaping @Sendable (Event) -> Bool) -> Listener {
        Listener({ [notify] in if isMeant($0) { notify($0) } }, queue)
    }

    /// How many events were dropped so far, because the actor did not take them in time.
    var dropped: Int { queue?.dropped ?? 0 }

    /// Drops the events that wait, and all later ones.
    func cancel() { queue?.cancel() }
}

/// Events on their way to an actor, which gets them one after another, in the order in which they happened.
private final class ActorQueue<Event: Sendable>: Sendable {
    private struct State {
        var waiting: [Event] = []
        var dropped = 0
        var isTaking = false
        var isCancelled = false
    }

    /// The most events that wait; of more the new ones are dropped, since an actor that stands still takes none.
    private static var limit: Int { 1_024 }

    private let actor: any Actor
    private let body: @Sendable (Event) -> Void
    private let state = Guarded(State())

    init(_ actor: any Actor, _ body: @escaping @Sendable (Event) -> Void) {
        (self.actor, self.body) = (actor, body)
    }

    var dropped: Int { state.withLock { $0.dropped } }

    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            state.waiting = []
        }
    }

    func add(_ event: Event) {
        let begins = state.withLock { state in
            guard !state.isCancelled else { return false }
            guard state.waiting.count < Self.limit else {
                state.dropped += 1
                return false
            }
            state.waiting.append(event)
            defer { state.isTaking = true }
            return !state.isTaking
        }
        // Detached: the listener must not inherit the task-locals of the open.
        if begins { Task.detached { await self.run(on: self.actor) } }
    }

    private func run(on actor: isolated any Actor) async {
        while let events = take() {
            for event in events where !state.withLock({ $0.isCancelled }) { body(event) }
            // What else the actor has to do comes between.
            await Task.yield()
        }
    }

    /// All that wait; nil when there are none, and then the next one begins anew.
    private func take() -> [Event]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaking = false
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
