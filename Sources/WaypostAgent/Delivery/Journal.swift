import CoreMetrics
import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// Stores what happened, many entries in one commit, and then sends what must not be sent before.
///
/// A thread that has nothing else to do commits what it brings, with all that waits; what comes meanwhile is left to
/// a thread of the agent. The commits of intake take along what waits, and the link's thread gathers what the commands
/// that it runs bring. So a command that comes alone needs no other thread, and under load a commit carries many.
///
/// With ``Durability/off`` nothing waits for a commit: what happened is sent, and goes into one a moment later.
final class Journal: Sendable {
    enum Entry: Sendable {
        /// A step that a command waits for; `then` is called with true once it is on disk, and with false when the
        /// journal was closed before.
        case step(InboxStep, sequence: Int64, then: @Sendable (Bool) -> Void)
        /// Nothing, but `then` is called likewise, once all that came before is on disk.
        case mark(then: @Sendable (Bool) -> Void)
        case ended(InboxResult, ReplyAddress)
        case failed(FailureReport)
        /// The broker has the reply of the stored command.
        case replyAcknowledged(sequence: Int64)
        /// The reply is too large for the broker; another takes its place, which has fewer bytes.
        case replyReplaced(sequence: Int64, MQTTMessage, fewer: Int)
        /// The broker has the row of the outbox, or the disk damaged it.
        case reportRemoved(sequence: Int64)
    }

    /// What the journal calls; connected by the agent.
    struct Connections: Sendable {
        /// Commands whose results are on disk, each with the bytes of its reply.
        var resultsStored: @Sendable ([(sequence: Int64, bytes: Int)]) -> Void
        /// A stored reply on that topic has so many bytes fewer.
        var replyReplaced: @Sendable (_ topic: String, _ fewer: Int) -> Void
        /// Whether the calling thread calls ``Journal/storeGathered()`` in a moment, so that what it brings can wait.
        var isGathering: @Sendable () -> Bool
    }

    /// What health shows.
    struct Counters: Sendable {
        var ended: [Code.Status: Int64] = [:]
        var isOutboxFull = false
        /// Senders whose own share of the outbox is full.
        var fullSenders: Set<String> = []
        /// Reports that found no space and are still to be reported.
        var droppedReports: Int64 = 0
    }

    /// Who commits an entry.
    private enum Urgency {
        /// The thread that brings it, unless another commits already; it may wait for the disk.
        case here
        /// A thread of the agent.
        case soon
        /// A later commit of any thread, with others like it, or one of the agent's own after a moment.
        case deferred
    }

    struct State {
        var counters = Counters()
        var quota: ReportQuota
        var waiting: [Entry] = []
        /// Those that the next commit need not take.
        var deferred: [Entry] = []
        /// How often deferred entries went on to wait with the others.
        var flushes = 0
        /// A commit is wanted for what waits.
        var isUrgent = false
        /// Replies that wait for no commit, and that the thread that gathers sends together.
        var unstoredReplies: [OutboxItem] = []
        /// A timer will look at what waits.
        var isTimed = false
        /// A thread commits what waits, or will, and looks for more after that.
        var isStoring = false
        /// The last commit of entries failed.
        var isFailing = false
        /// Commands that are not on disk yet, and that no commit has taken.
        var received: [NewCommand] = []
        /// Those among them too that are being stored.
        var receivedCount = 0
        /// Bytes of results that wait for the disk.
        var waitingReplyBytes = 0
        /// Reports that wait for the disk.
        var waitingReports = 0
        /// Reports that were dropped because too many wait for the disk.
        var overflow: Int64 = 0
        var isClosed = false
    }

    /// A result of so many bytes is stored in any case.
    private static let smallReply = 4_096
    /// How long a deferred entry waits for a commit; up to twice as long when others went shortly before it came.
    private static let deferral = Duration.milliseconds(50)
    /// So many deferred entries go with the next commit: each by itself would make it a good part longer.
    static let batchSize = 16
    /// So many do not wait any longer: enough that most commands have their acknowledgement by then, and are written once.
    private static let deferredLimit = 1_024
    /// How long a commit that failed waits for the next try.
    static let retryInterval = Duration.seconds(1)

    let store: Store
    let outbox: Outbox
    let failureTopic: String
    let clock: AgentClock
    let limits: AgentLimits
    /// Whether what happened is in the store before anything of it is published.
    let isDurable: Bool
    private let handlerTimer: Timer
    let connections: Connections
    let state: Guarded<State>

    init(
        store: Store, outbox: Outbox, failureTopic: String, clock: AgentClock, limits: AgentLimits,
        durability: Durability, handlerTimer: Timer, connections: Connections
    ) throws(StoreError) {
        self.store = store
        self.outbox = outbox
        self.failureTopic = failureTopic
        self.clock = clock
        self.limits = limits
        isDurable = durability != .off
        self.handlerTimer = handlerTimer
        self.connections = connections
        var quota = ReportQuota(
            records: limits.outboxRecords, bytes: limits.outboxBytes, share: limits.senderShare)
        for (sequence, bytes, sender) in try store.commit({ try $0.outboxSizes() }) {
            quota.stored(sequence, bytes: bytes, of: sender)
        }
        state = Guarded(State(quota: quota))
    }

    var counters: Counters { state.withLock(\.counters) }

    /// Whether reports about commands of `sender` find no space.
    func isOutboxFull(for sender: String) -> Bool {
        state.withLock { $0.counters.isOutboxFull || $0.counters.fullSenders.contains(sender) }
    }

    // MARK: What happened

    /// Takes commands, which the next commit stores before anything else; at the latest ``storeReceived()`` does.
    ///
    /// - Returns: False when too many wait for that, or it was closed.
    func received(_ commands: [NewCommand]) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.receivedCount + commands.count < limits.commitEntries else {
                return false
            }
            state.received += commands
            state.receivedCount += commands.count
            return true
        }
    }

    /// Returns when all commands are on disk that were received, or will be in a moment with ``Durability/off``.
    func storeReceived() throws(StoreError) {
        let count = state.withLock(\.receivedCount)
        guard count > 0 else { return }
        guard isDurable else { return scheduleCommitIfNeeded() }
        try commit(steps: count) { _ in }
        FaultPoint.afterStore.reached()
    }

    /// Returns when a step of a command is on disk; false when the journal was closed before.
    func store(_ step: InboxStep, of job: CommandJob) async -> Bool {
        guard isDurable else { return enqueue([.step(step, sequence: job.sequence) { _ in }], .deferred) }
        return await withCheckedContinuation { continuation in
            enqueue([.step(step, sequence: job.sequence) { continuation.resume(returning: $0) }], .here)
        }
    }

    /// Returns when all that came before is on disk; false when the journal was closed before.
    func stored() async -> Bool {
        guard isDurable else { return true }
        return await withCheckedContinuation { continuation in
            enqueue([.mark { continuation.resume(returning: $0) }], .here)
        }
    }

    /// Stores the ends of commands; their replies go out once they are on disk, or now with ``Durability/off``.
    ///
    /// - Parameter isFree: Whether the calling thread has nothing else to do, so that it may wait for the disk.
    func end(_ commands: [EndedCommand], isFree: Bool = false) {
        let entries = commands.map(entry)
        if enqueue(entries, isFree ? .here : .soon), !isDurable { sendUnstored(entries.compactMap(\.reply)) }
    }

    private func sendUnstored(_ replies: [OutboxItem]) {
        if connections.isGathering() {
            state.withLock { $0.unstoredReplies += replies }
        } else {
            outbox.enqueue(replies)
        }
    }

    private func entry(_ ended: EndedCommand) -> Entry {
        let (job, result) = (ended.job, ended.result)
        var reply = Reply(
            id: job.id, code: result.code, result: result.value, milliseconds: ended.milliseconds,
            attempt: job.attempt, at: clock.wall(), detail: result.detail?.cut(to: Reporter.maximumDetail),
            nearest: result.nearest, payload: result.payload,
            warnings: job.header.warnings)
        var bytes = reply.encoded()
        if let reason = reasonToReplace(bytes.count) {
            reply = Reply.tooLarge(bytes.count, reason, inPlaceOf: reply)
            bytes = reply.encoded()
        }
        state.withLock { state in
            state.counters.ended[reply.status, default: 0] += 1
            state.waitingReplyBytes += bytes.count
        }
        handlerTimer.recordMilliseconds(ended.milliseconds)
        return .ended(
            InboxResult(sequence: job.sequence, attempt: job.attempt, reply: bytes), job.address)
    }

    /// Why a reply of so many bytes is too large; nil when it is not.
    private func reasonToReplace(_ bytes: Int) -> String? {
        if bytes > limits.packetBytes { return "at most \(limits.packetBytes) can be sent" }
        guard bytes > Self.smallReply, store.isTight(with: bytes + state.withLock(\.waitingReplyBytes)) else {
            return nil
        }
        return "the store has no space for it"
    }

    /// Stores a failure report, which goes out once it is on disk.
    func store(_ report: FailureReport) {
        let mayWait = state.withLock { state in
            // On a full disk nothing leaves the queue.
            guard state.waitingReports < limits.outboxRecords else {
                state.overflow += 1
                return false
            }
            state.waitingReports += 1
            return true
        }
        if mayWait { enqueue([.failed(report)], .soon) }
    }

    /// The broker has these messages.
    ///
    /// After a crash before that is stored they go out once more: it can wait for the next commit.
    func acknowledged(_ items: [OutboxItem]) {
        let entries = items.compactMap { item -> Entry? in
            switch item.origin {
            case .reply(let sequence):
                FaultPoint.beforeReplyAcknowledged.reached()
                return .replyAcknowledged(sequence: sequence)
            case .stored(let sequence): return .reportRemoved(sequence: sequence)
            case .volatile: return nil
            }
        }
        if !entries.isEmpty { enqueue(entries, .deferred) }
    }

    /// A stored reply is too large for the broker: one that says so takes its place; false when that is no smaller.
    func tooLarge(_ item: OutboxItem, limit: Int?) -> Bool {
        guard case .reply(let sequence) = item.origin,
            let json = try? JSONValue(parsing: item.message.payload, limits: .trustedFile),
            let reply = try? Reply(json)
        else { return false }
        let reason =
            limit.map { "at most \($0) can be sent" } ?? "the broker does not accept a packet of that size"
        let smaller = Reply.tooLarge(item.message.payload.count, reason, inPlaceOf: reply)
        let fewer = item.message.payload.count - smaller.encoded().count
        guard fewer > 0 else { return false }
        var message = item.message
        message.payload = smaller.encoded()
        enqueue([.replyReplaced(sequence: sequence, message, fewer: fewer)], .soon)
        return true
    }

    /// A stored report was damaged and is set aside: it takes no space any more.
    func reportDamaged(_ sequence: Int64) { enqueue([.reportRemoved(sequence: sequence)], .soon) }

    /// Stores what the calling thread has gathered.
    func storeGathered() {
        let replies = state.withLock { state in
            defer { state.unstoredReplies = [] }
            return state.unstoredReplies
        }
        outbox.enqueue(replies)
        if mustStore() { storeHere() }
    }

    /// Stores what was sent without a commit; false when nothing is.
    func storeSent() -> Bool {
        !isDurable && (try? commit { _ in }) != nil
    }

    /// Whether the caller has to store what waits, and no other thread does.
    ///
    /// - Parameter isLate: Whether commands that were received must be stored now as well.
    private func mustStore(isLate: Bool = false) -> Bool {
        state.withLock { state in
            guard !state.waiting.isEmpty || isLate && !state.received.isEmpty else { return false }
            state.isUrgent = true
            defer { state.isStoring = true }
            return !state.isStoring
        }
    }

    /// - Returns: False when the journal is closed.
    @discardableResult
    private func enqueue(_ entries: [Entry], _ urgency: Urgency) -> Bool {
        let urgency = isDurable ? urgency : .deferred
        let isGathering = connections.isGathering()
        let (isOpen, stores, mustTime) = state.withLock { state in
            guard !state.isClosed else { return (false, false, false) }
            if urgency == .deferred { state.deferred += entries } else { state.waiting += entries }
            guard isGathering || urgency == .deferred && state.deferred.count < Self.deferredLimit else {
                state.isUrgent = true
                defer { state.isStoring = true }
                return (true, !state.isStoring, false)
            }
            defer { state.isTimed = true }
            return (true, false, !state.isTimed)
        }
        if !isOpen { Self.giveUp(entries) }
        if stores { urgency == .here ? storeHere() : commitInBackground() }
        if mustTime { scheduleCommit() }
        return isOpen
    }

    /// Stores what waits after a moment.
    private func scheduleCommitIfNeeded() {
        let mustTime = state.withLock { state in
            defer { state.isTimed = true }
            return !state.isTimed
        }
        if mustTime { scheduleCommit() }
    }

    /// Stores what waits after a moment, unless that came later than this.
    private func scheduleCommit() {
        let flushes = state.withLock(\.flushes)
        TimerThread.shared.call(after: Self.deferral) { [self] in
            let isNewer = state.withLock { state in
                let isNewer = state.flushes != flushes && state.waiting.isEmpty && !state.deferred.isEmpty
                state.isTimed = isNewer
                if !isNewer { state.flushDeferred() }
                return isNewer
            }
            if isNewer { scheduleCommit() } else if mustStore(isLate: true) { commitInBackground() }
        }
    }

    /// Entries that will not be stored any more: handlers that wait for it must not run.
    static func giveUp(_ entries: [Entry]) {
        for entry in entries {
            switch entry {
            case .step(_, _, let then), .mark(let then): then(false)
            case .ended, .failed, .replyAcknowledged, .replyReplaced, .reportRemoved: break
            }
        }
    }
}

extension Journal.Entry {
    /// What goes out for it.
    var reply: OutboxItem? {
        switch self {
        case .ended(let result, let address):
            OutboxItem(
                origin: .reply(sequence: result.sequence), kind: .reply,
                message: address.message(result.reply))
        case .replyReplaced(let sequence, let message, _):
            OutboxItem(origin: .reply(sequence: sequence), kind: .reply, message: message)
        case .step, .mark, .failed, .replyAcknowledged, .reportRemoved: nil
        }
    }
}

extension Reply {
    /// What a sender gets instead of a reply that is too large to be stored or sent.
    static func tooLarge(_ bytes: Int, _ reason: String, inPlaceOf reply: Reply) -> Reply {
        Reply(
            id: reply.id, code: .tooLarge, milliseconds: reply.milliseconds, attempt: reply.attempt,
            at: reply.at,
            detail: "the command ended with \(reply.code), and its reply has \(bytes) bytes; \(reason)")
    }
}
