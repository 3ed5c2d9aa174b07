/// Who hears of opens.
struct RouterListeners: Sendable {
    var events = ListenerList<RouterEvent>()
    var failures = ListenerList<Opening>()
}

extension Router {
    /// Hears of everything that happens while URLs are opened.
    ///
    /// The listener runs on the thread of the open, in the order of the events, and must return soon.
    @discardableResult
    public func observe(_ listener: @escaping @Sendable (RouterEvent) -> Void) -> RegistrationHandle {
        let id = listeners.withLock { $0.events.add(listener) }
        return RegistrationHandle { [weak self] in self?.listeners.withLock { $0.events.remove(id) } }
    }

    /// Hears of every open that did not succeed; several may listen.
    @discardableResult
    public func onFailure(_ listener: @escaping @Sendable (Opening) -> Void) -> RegistrationHandle {
        let id = listeners.withLock { $0.failures.add(listener) }
        return RegistrationHandle { [weak self] in self?.listeners.withLock { $0.failures.remove(id) } }
    }

    func tell(_ event: @autoclosure () -> RouterEvent) {
        let events = listeners.withLock { $0.events }
        if !events.isEmpty { events.tell(event()) }
    }
}
