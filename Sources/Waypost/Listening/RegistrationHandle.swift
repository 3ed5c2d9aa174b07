/// The handle of something that was registered; `cancel()` removes it.
///
/// What was registered stays when the handle is released.
public struct RegistrationHandle: Sendable {
    /// The patterns of the routes that it replaced, and the names of destinations; empty where nothing was.
    public let replaced: [String]
    private let drops: @Sendable () -> Int
    private let end: @Sendable () -> Void

    init(
        replaced: [String] = [], drops: @escaping @Sendable () -> Int = { 0 },
        _ end: @escaping @Sendable () -> Void
    ) {
        self.replaced = replaced
        self.drops = drops
        self.end = end
    }

    /// The handle of a listener, which also forgets what still waits for it.
    init<Event>(of listener: Listener<Event>, _ end: @escaping @Sendable () -> Void) {
        self.init(drops: { listener.dropped }) {
            end()
            listener.cancel()
        }
    }

    /// How many events a listener of an actor has missed, because more than 1 024 waited for that actor; 0 for all else.
    public var dropped: Int { drops() }

    /// Ends the registration; a second call does nothing.
    public func cancel() {
        end()
    }
}

/// Listeners, in the order in which they were added.
struct ListenerList<Event: Sendable>: Sendable {
    private var listeners: [(id: UInt64, listener: Listener<Event>)] = []
    private var next: UInt64 = 0

    var isEmpty: Bool { listeners.isEmpty }

    mutating func add(_ listener: Listener<Event>) -> UInt64 {
        next += 1
        listeners.append((next, listener))
        return next
    }

    mutating func remove(_ id: UInt64) {
        listeners.removeAll { $0.id == id }
    }

    func notify(_ event: Event) {
        for entry in listeners { entry.listener.notify(event) }
    }
}
