import MQTTLink
import Synchronization
import Threading
import Waypost
import WaypostMessages

/// Sends what waits, in order and within the window: ``OutboxState`` decides behind a lock.
///
/// Each caller sends on its own thread what its call made possible: a task would cost a change of thread for every
/// batch of replies and one for every batch of acknowledgements.
final class Outbox: Sendable {
    /// What the outbox calls; connected by the agent.
    struct Connections: Sendable {
        /// Gives messages to the link; called under the lock, so that the order is kept, and must not call back.
        var publish: @Sendable ([OutgoingMessage]) -> Void
        /// The final outcome of messages.
        var settled: @Sendable ([OutboxState.Settled]) -> Void
        /// The broker has accepted the first message of a connection.
        var accepted: @Sendable () -> Void
        /// Called before stored messages are read: those that are left to the disk may not be there yet, nor that the
        /// broker has others.
        var willRead: @Sendable () -> Void
        /// There is space for log messages again.
        var hasRoomForLogs: @Sendable () -> Void
        /// Stored messages that the disk has changed; they are set aside already.
        var damaged: @Sendable ([Damaged]) -> Void
    }

    /// What health shows.
    struct Counters: Sendable {
        /// Messages that the broker refused, or that could not be sent.
        var refused: Int64 = 0
        /// Whether it has accepted one since the connection began.
        var hasAccepted = false
        /// Those among them that were dropped since the connection began.
        var refusedAndDropped: Int64 = 0
        /// What the broker said last.
        var lastRefusal: String?
        /// Messages that were dropped because too many waited that are not stored.
        var dropped: Int64 = 0
        /// Refused messages that are stored and wait for another chance.
        var kept = 0
    }

    /// A stored message that the disk has changed.
    enum Damaged: Sendable {
        /// The reply to a command; the row has another one now, unless its id is damaged as well.
        case reply(sequence: Int64, command: CommandReference?, sender: String?)
        /// A failure report.
        case report(sequence: Int64)
    }

    private struct State {
        var items: OutboxState
        var connections: Connections?
        var counters = Counters()
        /// When the next timer for what was refused goes off.
        var retryTimer: Int64?
        /// Receipts were taken and are not passed on yet: on disk their messages still wait, so nothing is read.
        var isSettling = false
        var drained: [@Sendable () -> Void] = []
        var isClosed = false
        var own = OwnDocuments()

        mutating func count(_ refusal: PublishReceipt.Result) {
            counters.refused += 1
            counters.lastRefusal =
                switch refusal {
                case .refused(let code): "\(code)"
                case .rejected(let reason): "\(reason)"
                case .acknowledged, .lost: nil
                }
        }
    }

    /// Log messages beyond which events wait in the log, where they are dropped by level.
    static let fewLogs = 100
    /// Bytes of messages that are read from disk at one time.
    private static let readBytes = 1024 * 1024

    private let store: Store
    private let state: Guarded<State>
    private let topics: Topics
    private let agent: String
    private let clock: AgentClock
    private let versions = Atomic<UInt64>(0)
    private let logBacklog = Atomic<Int>(0)
    private let depth = Atomic<Int>(0)

    init(limits: AgentLimits, store: Store, clock: AgentClock, topics: Topics, agent: String) {
        self.store = store
        self.clock = clock
        self.topics = topics
        self.agent = agent
        state = Guarded(
            State(
                items: OutboxState(
                    window: limits.inFlight, bytes: AgentLimits.bytesUnderWay,
                    memoryBytes: limits.outboxMemoryBytes, volatileBytes: limits.volatileBytes,
                    share: limits.senderShare)))
    }

    /// Whether events may become messages now.
    var hasRoomForLogs: Bool { logBacklog.load(ordering: .relaxed) <= Self.fewLogs }
    /// Messages in memory that wait or are in flight.
    var waiting: Int { depth.load(ordering: .relaxed) }
    /// Whether there is a broker to send to.
    var isOnline: Bool { state.withLock { $0.items.isOnline } }

    var counters: Counters {
        state.withLock { state in
            var counters = state.counters
            counters.kept = state.items.refusedAndKept
            return counters
        }
    }

    /// Events in messages that the broker has not acknowledged.
    var events: Int { state.withLock(\.items.events) }

    // MARK: Sending

    /// Begins to send; what was enqueued before waits for this.
    func start(_ connections: Connections) { change { $0.connections = connections } }

    /// Sends messages; returns how many events were in those that had to be dropped.
    @discardableResult
    func enqueue(_ items: [OutboxItem]) -> Int {
        guard !items.isEmpty else { return 0 }
        var droppedEvents = 0
        change { state in
            for item in items where !state.items.enqueued(item) {
                state.counters.dropped += 1
                droppedEvents += item.events
            }
        }
        return droppedEvents
    }

    /// Keeps a stored message, which nothing smaller can stand for, for the next connection.
    func keep(_ item: OutboxItem) { change { $0.items.keep(item) } }

    /// Publishes a retained document about the agent; the newest one of a topic goes last, from any thread.
    func publish(_ topic: String, _ payload: () -> [UInt8]) {
        let version = versions.add(1, ordering: .sequentiallyConsistent).newValue
        let message = MQTTMessage.retained(topic, payload())
        change { state in
            state.items.published(message, version: version)
            state.own.published(message.payload, on: topic)
        }
    }

    /// A message came on the topic of such a document: in how many milliseconds it is to be published again, with
    /// ``willPublishAgain(_:)`` before; nil when it is not.
    func timeToRepeat(after message: MQTTMessage, hasEchoes: Bool) -> Int64? {
        let now = clock.monotonic()
        return state.withLock {
            $0.own.came(message.payload, on: message.topic, hasEchoes: hasEchoes, at: now)
        }.map { max(0, $0 - now) }
    }

    /// What comes on this topic from now on is news again.
    func willPublishAgain(_ topic: String) { state.withLock { $0.own.willPublishAgain(topic) } }

    /// Failure reports of an earlier run wait on disk.
    func reportsStoredEarlier() { change { $0.items.storedEarlier(.failures) } }

    /// Replies of an earlier run wait on disk, to commands on these topics.
    func repliesStoredEarlier(to topics: [String]) {
        change { state in
            for topic in topics { state.items.storedEarlier(.replies(on: replyTopic(of: topic))) }
        }
    }

    /// Where the reply to a command goes; empty for a topic that names no sender, because the disk has changed it.
    private func replyTopic(of command: String) -> String {
        topics.sender(ofCommandOn: command).map { topics.reply(of: agent, to: $0) } ?? ""
    }

    func connected(receiveMaximum: Int) {
        change { state in
            state.counters.refusedAndDropped = 0
            state.counters.hasAccepted = false
            state.items.connected(receiveMaximum: receiveMaximum)
        }
    }

    func disconnected() { change { $0.items.disconnected() } }

    /// Takes the link's receipts, and passes on what is final.
    func settled(_ receipts: [PublishReceipt]) {
        var settled: [OutboxState.Settled] = []
        var connections: Connections?
        var isFirstAccepted = false
        let now = clock.monotonic()
        let drained = decide { state in
            connections = state.connections
            state.isSettling = true
            for receipt in receipts {
                if case .acknowledged = receipt.result, !state.counters.hasAccepted {
                    state.counters.hasAccepted = true
                    isFirstAccepted = true
                }
                guard let result = state.items.settled(receipt, at: now) else { continue }
                switch result {
                case .delivered: break
                case .retried, .kept, .dropped, .tooLarge: state.count(receipt.result)
                }
                if case .dropped = result { state.counters.refusedAndDropped += 1 }
                settled.append(result)
            }
        }
        connections?.settled(settled)
        change { $0.isSettling = false }
        if isFirstAccepted { connections?.accepted() }
        // Last: the caller that waits for an empty outbox may close the journal next.
        for call in drained { call() }
    }

    private func retry(at due: Int64) {
        let pause = Duration.milliseconds(max(0, due - clock.monotonic()))
        AgentThreads.start { [weak self] in
            await AgentThreads.sleep(for: pause)
            self?.change { state in
                if state.retryTimer == due { state.retryTimer = nil }
                state.items.retry(at: due)
            }
        }
    }

    /// Sends nothing more.
    func close() {
        let drained = state.withLock { state in
            state.isClosed = true
            state.connections = nil
            defer { state.drained = [] }
            return state.drained
        }
        for call in drained { call() }
    }

    /// Returns when nothing waits any more; not at all while the broker is away, so limit the wait.
    func drained() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !state.isClosed, !state.items.isEmpty else { return true }
                state.drained.append { continuation.resume() }
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    /// Gives up the space for more than there are now.
    func releaseMemory() { state.withLock { $0.items.releaseMemory() } }

    private func change(_ body: (inout State) -> Void) {
        for call in decide(body) { call() }
    }

    /// Changes the state and sends what may be sent; returns what to call once nothing waits any more.
    private func decide(_ body: (inout State) -> Void) -> [@Sendable () -> Void] {
        var wanted: (line: OutboxItem.Line, known: Set<Int64>)?
        var retryAt: Int64?
        var hasRoomAgain: (@Sendable () -> Void)?
        let drained: [@Sendable () -> Void] = state.withLock { state in
            guard !state.isClosed else { return [] }
            body(&state)
            if let connections = state.connections {
                let sending = state.items.messagesToSend()
                if !sending.isEmpty { connections.publish(sending) }
                if !state.isSettling { wanted = state.items.lineToRead() }
            }
            if let due = state.items.retryDue, due < state.retryTimer ?? .max {
                state.retryTimer = due
                retryAt = due
            }
            let hadRoom = hasRoomForLogs
            logBacklog.store(state.items.waitingLogs, ordering: .relaxed)
            depth.store(state.items.count, ordering: .relaxed)
            if !hadRoom && hasRoomForLogs { hasRoomAgain = state.connections?.hasRoomForLogs }
            guard state.items.isEmpty else { return [] }
            defer { state.drained = [] }
            return state.drained
        }
        if let wanted { read(wanted.line, wanted.known) }
        if let retryAt { retry(at: retryAt) }
        hasRoomAgain?()
        return drained
    }

    // MARK: The disk

    private struct Found: Sendable {
        var items: [OutboxItem] = []
        var damaged: [Damaged] = []
        var isAll = true
    }

    /// Reads stored messages for which there was no space in memory.
    private func read(_ line: OutboxItem.Line, _ known: Set<Int64>) {
        AgentThreads.start { [self] in
            state.withLock { $0.connections }?.willRead()
            do {
                let found = try store.commit { transaction in
                    switch line.kind {
                    case .failure: try Self.reports(excluding: known, in: transaction)
                    case .reply: try self.replies(on: line.topic, excluding: known, in: transaction)
                    case .presence, .log: Found()
                    }
                }
                change { $0.items.read(found.items, of: line, isAll: found.isAll) }
                if !found.damaged.isEmpty { state.withLock { $0.connections }?.damaged(found.damaged) }
            } catch {
                state.withLock { $0.items.readFailed() }
            }
        }
    }

    private static func reports(
        excluding known: Set<Int64>, in transaction: Store.Transaction
    ) throws -> Found {
        let (records, damaged, isAll) = try transaction.outbox(excluding: known, bytes: readBytes)
        return Found(
            items: records.map(OutboxItem.init), damaged: damaged.map(Damaged.report), isAll: isAll)
    }

    private func replies(
        on topic: String, excluding known: Set<Int64>, in transaction: Store.Transaction
    ) throws -> Found {
        let (records, isAll) = try transaction.unsentReplies(excluding: known, bytes: Self.readBytes) {
            replyTopic(of: $0) == topic
        }
        var found = Found(isAll: isAll)
        for var record in records {
            switch record.damage {
            case nil: break
            case .reply?:
                record.reply = Reply.damaged(record, at: clock.wall()).encoded()
                try transaction.replaceReply(record.sequence, with: record.reply ?? [])
                found.damaged.append(
                    .reply(
                        sequence: record.sequence,
                        command: CommandReference(id: record.id, trace: record.trace),
                        sender: topics.sender(ofCommandOn: record.topic)))
            case .row?, .payload?:
                try transaction.setAside(command: record.sequence)
                found.damaged.append(.reply(sequence: record.sequence, command: nil, sender: nil))
                continue
            }
            guard !topic.isEmpty, let reply = record.reply else { continue }
            let address = ReplyAddress(
                topic: topic, correlation: record.correlation, trace: record.trace)
            found.items.append(
                OutboxItem(
                    origin: .reply(sequence: record.sequence), kind: .reply, message: address.message(reply)))
        }
        return found
    }
}

extension Reply {
    /// What a sender gets instead of a reply that the disk has changed.
    fileprivate static func damaged(_ record: InboxRecord, at now: Int64) -> Reply {
        Reply(
            id: record.id, code: .interrupted, attempt: record.attempt, at: now,
            detail:
                "the command ended, and its stored reply was damaged on the disk: how it ended is not known",
            trace: record.trace)
    }
}
