/// Who wants to hear of events, in the order in which they came.
struct ListenerList<Event>: Sendable {
    private var listeners: [(id: UInt64, tell: @Sendable (Event) -> Void)] = []
    private var next: UInt64 = 0

    var isEmpty: Bool { listeners.isEmpty }

    mutating func add(_ tell: @escaping @Sendable (Event) -> Void) -> UInt64 {
        next += 1
        listeners.append((next, tell))
        return next
    }

    mutating func remove(_ id: UInt64) {
        listeners.removeAll { $0.id == id }
    }

    func tell(_ event: Event) {
        for listener in listeners { listener.tell(event) }
    }
}
