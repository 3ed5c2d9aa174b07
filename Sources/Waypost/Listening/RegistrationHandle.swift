/// The handle of something that was registered; `cancel()` removes it.
///
/// What was registered stays when the handle is released.
public struct RegistrationHandle: Sendable {
    /// The patterns of the routes that it replaced, and the names of destinations; empty where nothing was.
    public let replaced: [String]
    private let end: @Sendable () -> Void

    init(replaced: [String] = [], _ end: @escaping @Sendable () -> Void) {
        self.replaced = replaced
        self.end = end
    }

    /// Ends the registration; a second call does nothing.
    public func cancel() {
        end()
    }
}

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
