import Foundation

/// What happened so far, and a way to wait for more without sleeping.
///
/// `@unchecked Sendable`: all it holds is behind `withContent`. The lock is Foundation's and not a `Mutex`, because
/// the thread sanitizer does not see a `Mutex` of a generic type on Linux and reports races inside it.
public final class EventLog<Event: Sendable>: @unchecked Sendable {
    private struct Waiter {
        let id: Int
        /// Whether the wait is over; it gets all events, and the place of the first that it has not seen.
        let condition: ([Event], Int) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct Content {
        var events: [Event] = []
        var waiters: [Waiter] = []
        var lastID = 0
    }

    private let lock = NSLock()
    private var content = Content()

    /// An empty log.
    public init() {}

    private func withContent<Value>(_ body: (inout Content) -> Value) -> Value {
        lock.withLock { body(&content) }
    }

    /// All so far.
    public var events: [Event] { withContent { $0.events } }

    /// Adds one, and lets those go on who waited for it.
    public func append(_ event: Event) {
        let done: [Waiter] = withContent { content in
            content.events.append(event)
            let done = content.waiters.filter { $0.condition(content.events, content.events.count - 1) }
            if !done.isEmpty {
                content.waiters.removeAll { waiter in done.contains { $0.id == waiter.id } }
            }
            return done
        }
        for waiter in done { waiter.continuation.resume(returning: true) }
    }

    /// Waits until the condition holds, as long as events come: see ``Patience``.
    ///
    /// Throws `Timeout` with what had happened until then.
    ///
    /// - Parameters:
    ///   - quiet: without an event for so long, the wait ends.
    ///   - progress: what else shows that something goes on.
    public func wait(
        for what: String, within quiet: Duration = Patience.usual,
        progress: @escaping @Sendable () -> Int = { 0 },
        until condition: @escaping @Sendable ([Event]) -> Bool
    ) async throws {
        try await wait(for: what, within: quiet, progress) { events, _ in condition(events) }
    }

    /// Waits for the first event that something can be made of; each is looked at once.
    public func first<Value: Sendable>(
        _ what: String, after count: Int = 0, within quiet: Duration = Patience.usual,
        progress: @escaping @Sendable () -> Int = { 0 }, _ make: @escaping @Sendable (Event) -> Value?
    ) async throws -> Value {
        let found = Found<Value>()
        try await wait(for: what, within: quiet, progress) { events, new in
            for event in events.dropFirst(max(new, count)) where found.value == nil {
                found.value = make(event)
            }
            return found.value != nil
        }
        guard let value = found.value else { throw Timeout(what: what, seen: []) }
        return value
    }

    /// Waits until there are so many of what an event may have several of; each event is looked at once.
    public func wait(
        for count: Int, _ things: String, of number: @escaping @Sendable (Event) -> Int
    ) async throws {
        let found = Found<Int>()
        try await wait(for: "\(count) \(things)", within: Patience.usual, { 0 }) { events, new in
            let all = events.dropFirst(new).reduce(found.value ?? 0) { $0 + number($1) }
            found.value = all
            return all >= count
        }
    }

    private func wait(
        for what: String, within quiet: Duration, _ progress: @escaping @Sendable () -> Int,
        until condition: @escaping @Sendable ([Event], Int) -> Bool
    ) async throws {
        let id = withContent { content in
            content.lastID += 1
            return content.lastID
        }
        let alarm = Task {
            var patience = Patience(quiet)
            repeat {
                try await Task.sleep(for: Patience.look)
            } while !patience.isOver(at: withContent { $0.events.count } + progress())
            let late = withContent { content in
                let late = content.waiters.first { $0.id == id }
                content.waiters.removeAll { $0.id == id }
                return late
            }
            late?.continuation.resume(returning: false)
        }
        defer { alarm.cancel() }
        let happened = await withCheckedContinuation { continuation in
            let holds = withContent { content in
                if condition(content.events, 0) { return true }
                content.waiters.append(Waiter(id: id, condition: condition, continuation: continuation))
                return false
            }
            if holds { continuation.resume(returning: true) }
        }
        if !happened { throw Timeout(what: what, seen: events.suffix(20).map { "\($0)" }) }
    }
}

/// What a wait is for.
///
/// `@unchecked Sendable`: it is set behind the lock of the log, and read when the wait is over.
private final class Found<Value>: @unchecked Sendable {
    var value: Value?
}
