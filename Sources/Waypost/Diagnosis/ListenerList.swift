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

/// Keeps something registered; `cancel()` ends it.
///
/// Letting go of the handle changes nothing: what was registered stays.
public struct RegistrationHandle: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    /// Ends the registration; a second call does nothing.
    public func cancel() {
        end()
    }
}
