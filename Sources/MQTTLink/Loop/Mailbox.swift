import Threading

/// Work for the link's thread, put in by any other.
final class Mailbox: Sendable {
    /// A message that waits for its turn.
    struct Waiting: Sendable {
        let origin: InFlight.Origin
        let message: MQTTMessage
        /// What counts against the limit of bytes.
        let size: Int

        init(origin: InFlight.Origin, message: MQTTMessage) {
            self.origin = origin
            self.message = message
            size = message.packetSize(.v5) ?? message.payload.count
        }
    }

    enum Command: Sendable {
        case subscribe([Subscription], reply: @Sendable ([SubscriptionResult]?) -> Void)
        case unsubscribe([String])
        /// Connect again with these.
        case renew(Credentials?, TLSOptions?)
        /// Give up what only more traffic needs.
        case releaseMemory
        case stop(goodbyes: [MQTTMessage], within: Duration)
        /// The link was let go of: end without a word.
        case abandon
        /// An attempt has come to its socket, or to nothing.
        case attempted(number: Int, ConnectAttempt.Outcome)
        /// Whether something listens at the preferred broker.
        case probed(Bool)
    }

    private struct Content {
        var waiting: [Waiting] = []
        /// How many at the front have been taken.
        var taken = 0
        var bytes = 0
        var overflowed: [UInt64] = []
        /// Came after the goodbyes.
        var late: [UInt64] = []
        var commands: [Command] = []
        /// The thread has not looked at the messages since one came.
        var hasNewMessages = false
        /// The thread sleeps and was not woken yet: only then it must be.
        var isAsleep = false
        var isLeaving = false
        var isClosed = false
    }

    /// What the link's thread has to see to in one turn, besides the messages.
    struct Orders: Sendable {
        var commands: [Command]
        var overflowed: [UInt64]
        var late: [UInt64]
    }

    let wake = WakeUp()
    private let content = Guarded(Content())
    private let limit: Int
    private let byteLimit: Int

    init(limit: Int, byteLimit: Int) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    // MARK: From any thread

    func publish(_ messages: [OutgoingMessage]) {
        change { content in
            for outgoing in messages {
                let waiting = Waiting(origin: .caller(token: outgoing.token), message: outgoing.message)
                let size = waiting.size
                // A single message beyond the byte limit may pass through an empty queue; the broker decides.
                let isFull =
                    content.waiting.count - content.taken >= limit
                    || (content.bytes > 0 && content.bytes + size > byteLimit)
                if content.isLeaving {
                    content.late.append(outgoing.token)
                } else if isFull {
                    content.overflowed.append(outgoing.token)
                } else {
                    content.bytes += size
                    content.waiting.append(waiting)
                    content.hasNewMessages = true
                }
            }
        }
    }

    /// False when the thread has ended and no one reads it any more.
    @discardableResult
    func post(_ command: Command) -> Bool {
        change { $0.commands.append(command) }
    }

    @discardableResult
    private func change(_ change: (inout Content) -> Void) -> Bool {
        let (isOpen, mustRing) = content.withLock { content in
            if content.isClosed { return (false, false) }
            change(&content)
            defer { content.isAsleep = false }
            return (true, content.isAsleep)
        }
        if mustRing { wake.ring() }
        return isOpen
    }

    // MARK: From the link's thread

    /// Whether the thread may sleep; from now on what comes wakes it.
    func maySleep() -> Bool {
        content.withLock { content in
            content.isAsleep =
                !content.hasNewMessages && content.commands.isEmpty && content.overflowed.isEmpty
                && content.late.isEmpty
            return content.isAsleep
        }
    }

    /// The thread is awake; `wasRung` when the bell woke it.
    func awoke(wasRung: Bool) {
        content.withLock { $0.isAsleep = false }
        if wasRung { wake.quiet() }
    }

    /// Commands and rejected tokens; the messages stay until they can be sent.
    func takeOrders() -> Orders {
        content.withLock { content in
            content.hasNewMessages = false
            defer {
                content.commands.removeAll()
                content.overflowed.removeAll()
                content.late.removeAll()
            }
            return Orders(commands: content.commands, overflowed: content.overflowed, late: content.late)
        }
    }

    var isEmpty: Bool { content.withLock { $0.waiting.count == $0.taken } }

    /// The next messages in order, at most so many.
    func take(_ count: Int) -> ArraySlice<Waiting> {
        guard count > 0 else { return [] }
        return content.withLock { content in
            let end = content.taken + min(count, content.waiting.count - content.taken)
            let slice = content.waiting[content.taken..<end]
            content.taken = end
            content.bytes -= slice.reduce(0) { $0 + $1.size }
            if end == content.waiting.count {
                content.waiting = []
                content.taken = 0
            } else if end > 1_024 && end > content.waiting.count / 2 {
                content.waiting.removeFirst(end)
                content.taken = 0
            }
            return slice
        }
    }

    /// Puts the goodbyes behind all that waits, whatever the limit says; nothing comes behind them.
    func append(goodbyes: [MQTTMessage]) {
        content.withLock { content in
            content.isLeaving = true
            let goodbyes = goodbyes.map { Waiting(origin: .goodbye, message: $0) }
            content.waiting += goodbyes
            content.bytes += goodbyes.reduce(0) { $0 + $1.size }
        }
    }

    /// Takes nothing more, and returns what came since the last turn.
    func close() -> Orders {
        content.withLock { $0.isClosed = true }
        return takeOrders()
    }
}
