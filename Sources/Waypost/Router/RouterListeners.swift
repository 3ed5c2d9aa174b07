import Synchronization
import Threading

/// The listeners of a router.
struct RouterListeners: Sendable {
    var events = ListenerList<RouterEvent>()
    var openings = ListenerList<Opening>()
    var changes = ListenerList<Void>()
}

extension Router {
    /// Calls the listener with everything that happens while URLs are opened.
    ///
    /// The listener runs on the thread of the open, in the order of the events. It must return quickly. One that belongs
    /// to an actor runs there, in the same order and soon after; see ``RegistrationHandle/dropped``.
    @discardableResult
    public func observe(
        @_inheritActorContext _ listener: @escaping @isolated(any) @Sendable (RouterEvent) -> Void
    ) -> RegistrationHandle {
        hasListeners.store(true, ordering: .releasing)
        let listener = Listener(listener)
        let id = listeners.withLock { $0.events.add(listener) }
        return RegistrationHandle(of: listener) { [weak self] in
            self?.listeners.withLock { $0.events.remove(id) }
        }
    }

    /// Calls the listener after each open with all that is known of it: how it ended, its redirects and parameters, how
    /// long it took and who asked.
    ///
    /// The listener runs as that of ``observe(_:)`` does. The parameters may hold secrets; for logs there is
    /// ``Opening/redactedParameters(further:)``.
    @discardableResult
    public func onOpen(
        @_inheritActorContext _ listener: @escaping @isolated(any) @Sendable (Opening) -> Void
    ) -> RegistrationHandle {
        add(Listener(listener))
    }

    private func add(_ listener: Listener<Opening>) -> RegistrationHandle {
        hasListeners.store(true, ordering: .releasing)
        let id = listeners.withLock { $0.openings.add(listener) }
        return RegistrationHandle(of: listener) { [weak self] in
            self?.listeners.withLock { $0.openings.remove(id) }
        }
    }

    /// What ``observe(_:)`` gives, as a stream.
    ///
    /// - Parameter limit: The most events that wait to be taken; 1 024 unless set.
    public func events(buffering limit: Int = 1_024) -> EventStream<RouterEvent> {
        EventStream(buffering: limit) { observe($0) }
    }

    /// What ``onOpen(_:)`` gives, as a stream.
    ///
    /// - Parameter limit: The most openings that wait to be taken; 1 024 unless set.
    public func openings(buffering limit: Int = 1_024) -> EventStream<Opening> {
        EventStream(buffering: limit) { onOpen($0) }
    }

    /// Calls the listener after each open that did not succeed; there may be several listeners.
    @discardableResult
    public func onFailure(
        @_inheritActorContext _ listener: @escaping @isolated(any) @Sendable (Opening) -> Void
    ) -> RegistrationHandle {
        add(Listener(listener).when { !$0.isSuccess })
    }

    /// Calls `body` after each change of what is registered: routes, destinations, exposed services.
    ///
    /// It runs on the thread that made the change, and outside all locks. Relocation is no such change.
    @discardableResult
    package func onRegistrationChange(_ body: @escaping @Sendable () -> Void) -> RegistrationHandle {
        loadLinked()
        let id = listeners.withLock { $0.changes.add(Listener(body)) }
        let services = registry.onChange(body)
        return RegistrationHandle { [weak self] in
            self?.listeners.withLock { $0.changes.remove(id) }
            services.cancel()
        }
    }

    func notifyChange() {
        let changes = listeners.withLock { $0.changes }
        changes.notify(())
    }

    func notify(_ event: @autoclosure () -> RouterEvent) {
        guard hasListeners.load(ordering: .acquiring) else { return }
        let events = listeners.withLock { $0.events }
        if !events.isEmpty { events.notify(event()) }
    }
}
