/// Listeners, in the order in which they were added.
struct ListenerList<Event>: Sendable {
    private var listeners: [(id: UInt64, notify: @Sendable (Event) -> Void)] = []
    private var next: UInt64 = 0

    var isEmpty: Bool { listeners.isEmpty }

    mutating func add(_ notify: @escaping @Sendable (Event) -> Void) -> UInt64 {
        next += 1
        listeners.append((next, notify))
        return next
    }

    mutating func remove(_ id: UInt64) {
        listeners.removeAll { $0.id == id }
    }

    func notify(_ event: Event) {
        for listener in listeners { listener.notify(event) }
    }
}
