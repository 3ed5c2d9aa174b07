import Threading

/// Messages that wait for their reader: at most so many, with at most so many bytes.
///
/// When there are more, the oldest are dropped and counted: a reader that is too slow sees what is new.
package final class MessageQueue: Sendable {
    /// What a reader gets.
    package enum Event: Sendable {
        case message(MQTTMessage)
        /// ``alarm()`` was called, and all messages that came before it have been read.
        case alarm
    }

    fileprivate typealias Reader = CheckedContinuation<Event?, Never>

    fileprivate struct State {
        var waiting: [(message: MQTTMessage, size: Int)] = []
        /// How many at the front have been read or dropped.
        var first = 0
        var bytes = 0
        /// How many have been read or dropped since the beginning.
        var removed = 0
        var dropped = 0
        /// For each alarm the number of messages before it.
        var alarms: [(place: Int, id: UInt64?)] = []
        /// Those that may still come, and are not called off.
        var armed: Set<UInt64> = []
        var lastID: UInt64 = 0
        var reader: Reader?
        var isFinished = false

        var count: Int { waiting.count - first }
    }

    private let limit: Int
    private let byteLimit: Int
    private let state = Guarded(State())

    /// A single message beyond the limit of bytes is kept, as the only one.
    package init(limit: Int, byteLimit: Int) {
        self.limit = max(limit, 1)
        self.byteLimit = byteLimit
    }

    /// How many messages were dropped.
    package var dropped: Int { state.withLock { $0.dropped } }

    /// How many have come, read, dropped or neither.
    package var received: Int { state.withLock { $0.removed + $0.count } }

    /// Adds messages; does nothing after ``finish()``.
    package func append(_ messages: [MQTTMessage]) {
        change { state in
            guard !state.isFinished else { return }
            for message in messages {
                let size = message.packetSize(.v5) ?? message.payload.count
                state.waiting.append((message, size))
                state.bytes += size
                while state.count > limit || (state.bytes > byteLimit && state.count > 1) {
                    _ = state.removeFirst()
                    state.dropped += 1
                }
            }
        }
    }

    /// Has the reader get an alarm after the messages that are here now.
    package func alarm() {
        change { $0.alarm(nil) }
    }

    /// The number of an alarm that may be called off: then the reader gets it no more, whether it was called before or is
    /// called afterwards.
    package func arm() -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            state.armed.insert(state.lastID)
            return state.lastID
        }
    }

    /// The same as ``alarm()``, once, unless that one was called off.
    package func alarm(_ id: UInt64) {
        change { state in if state.armed.contains(id) { state.alarm(id) } }
    }

    /// From now on nobody gets that alarm.
    package func callOff(_ id: UInt64) {
        state.withLock { state in
            state.armed.remove(id)
            state.alarms.removeAll { $0.id == id }
        }
    }

    /// Lets the reader read what is here, and then end.
    package func finish() {
        change { $0.isFinished = true }
    }

    /// The next event, for one reader; `nil` after ``finish()`` when all is read, or when the task is cancelled.
    package func next() async -> Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let event: Event?? = state.withLock { state in
                    if Task.isCancelled { return .some(nil) }
                    let event = state.next()
                    if event == nil { state.reader = reader }
                    return event
                }
                if let event { reader.resume(returning: event) }
            }
        } onCancel: {
            Scheduling.undisturbed { state.withLock { $0.reader.take() }?.resume(returning: nil) }
        }
    }

    private func change(_ change: (inout State) -> Void) {
        let (reader, event): (Reader?, Event?) = state.withLock { state in
            change(&state)
            guard let reader = state.reader, let event = state.next() else { return (nil, nil) }
            state.reader = nil
            return (reader, event)
        }
        reader?.resume(returning: event)
    }
}

extension MessageQueue.State {
    fileprivate mutating func alarm(_ id: UInt64?) {
        if !isFinished { alarms.append((removed + count, id)) }
    }

    fileprivate mutating func removeFirst() -> MQTTMessage {
        let (message, size) = waiting[first]
        // The message itself goes now, its place when half of the array is such places.
        waiting[first].message.payload = []
        first += 1
        removed += 1
        bytes -= size
        if first == waiting.count || (first > 1_024 && first > waiting.count / 2) {
            waiting.removeFirst(first)
            first = 0
        }
        return message
    }

    /// What the reader gets now: an event, `nil` at the end; nothing when it has to wait.
    fileprivate mutating func next() -> MessageQueue.Event?? {
        if let alarm = alarms.first, alarm.place <= removed {
            alarms.removeFirst()
            if let id = alarm.id { armed.remove(id) }
            return .alarm
        }
        if count > 0 { return .message(removeFirst()) }
        return isFinished ? .some(nil) : nil
    }
}
