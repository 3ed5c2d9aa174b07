import MQTTLink
import Waypost
import WaypostMessages

/// What waits for a commit, who makes it, and when: decisions only; ``Journal`` commits.
///
/// One thread at a time commits what waits. What others bring meanwhile gathers for the next commit, so that under load a
/// commit carries many.
struct JournalState: Sendable {
    /// What happened, and must be on disk.
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

    /// What the caller has to do.
    enum Next: Sendable, Equatable {
        case nothing
        /// It commits what waits, and tells ``committerEnded()``.
        case commit
        /// A thread of the agent does.
        case commitInBackground
        /// ``timePassed(since:)`` follows, after ``deferral``.
        case wait(flushes: Int)
        /// The journal is closed: the entries will never be on disk.
        case giveUp
    }

    /// Who commits entries.
    private enum Urgency {
        /// The thread that brings them, unless another commits already; it may wait for the disk.
        case here
        /// A thread of the agent.
        case soon
        /// A later commit of any thread, or one of the agent's own after a moment.
        case deferred
    }

    /// Whether a thread commits what waits, or will, and whether it looks for more after that.
    private enum Committer { case none, last, more }

    /// What health shows.
    struct Counters: Sendable {
        var ended: [Code.Status: Int64] = [:]
        var isOutboxFull = false
        /// Senders whose own share of the outbox is full.
        var fullSenders: Set<String> = []
        /// Reports that found no space and are still to be reported.
        var droppedReports: Int64 = 0
    }

    /// How long a deferred entry waits for a commit; up to twice as long when others went shortly before it came.
    static let deferral = Duration.milliseconds(50)
    /// So many deferred entries go with the next commit: each by itself would make it a good part longer.
    static let batchSize = 16
    /// So many do not wait any longer: enough that most commands have their acknowledgement by then, and are written once.
    private static let deferredLimit = 1_024

    private(set) var counters = Counters()
    private let limits: AgentLimits
    /// Whether what happened is on disk before anything of it is published.
    private let isDurable: Bool
    private var quota: ReportQuota
    private var waiting: [Entry] = []
    /// Those that the next commit need not take.
    private var deferred: [Entry] = []
    /// How often deferred entries went on to wait with the others.
    private var flushes = 0
    private var isTimed = false
    private var committer = Committer.none
    /// The last commit of entries failed.
    private var isFailing = false
    /// Commands that are not on disk yet, and that no commit has taken.
    private var received: [NewCommand] = []
    /// Those among them too that are being committed.
    private(set) var receivedCount = 0
    /// Bytes of results that wait for the disk.
    private(set) var waitingReplyBytes = 0
    /// Reports that wait for the disk, and those dropped because too many do.
    private var waitingReports = 0
    private var overflow: Int64 = 0
    /// Replies that wait for no commit, and that the thread that gathers sends together.
    private var gatheredReplies: [OutboxItem] = []
    private(set) var isClosed = false

    /// - Parameter quota: with the reports that are on disk.
    init(limits: AgentLimits, isDurable: Bool, quota: ReportQuota) {
        self.limits = limits
        self.isDurable = isDurable
        self.quota = quota
        showQuota()
    }

    private mutating func showQuota() {
        counters.isOutboxFull = quota.isFull
        counters.fullSenders = quota.fullSenders
        counters.droppedReports = quota.dropped
    }

    /// Whether what is counted goes with what waits.
    private var isConsistent: Bool {
        receivedCount >= received.count && waitingReplyBytes >= 0 && overflow >= 0
            && 0...limits.outboxRecords ~= waitingReports && (gatheredReplies.isEmpty || !isDurable)
    }

    // MARK: What happened

    /// Commands came, which the next commit takes before anything else.
    ///
    /// - Returns: False when too many wait for that, or the journal is closed.
    mutating func commandsReceived(_ commands: [NewCommand]) -> Bool {
        defer { assert(isConsistent) }
        guard !isClosed, receivedCount + commands.count < limits.commitEntries else { return false }
        received += commands
        receivedCount += commands.count
        return true
    }

    /// A handler is about to start, or a gate holds its command: the caller waits until that is on disk.
    mutating func handlerStarted(_ step: Entry, isGathering: Bool) -> Next {
        defer { assert(isConsistent) }
        return append([step], isDurable ? .here : .deferred, isGathering)
    }

    /// Commands have ended.
    ///
    /// - Parameters:
    ///   - statuses: theirs.
    ///   - isFree: whether the calling thread has nothing else to do, so that it may wait for the disk.
    /// - Returns: What to do, and the replies that go out now, without a commit.
    mutating func resultsProduced(
        _ results: [Entry], _ statuses: some Sequence<Code.Status>, isFree: Bool, isGathering: Bool
    ) -> (Next, [OutboxItem]) {
        defer { assert(isConsistent) }
        for status in statuses { counters.ended[status, default: 0] += 1 }
        waitingReplyBytes += Self.replyBytes(results)
        let next = append(results, isFree ? .here : .soon, isGathering)
        guard !isDurable, next != .giveUp else { return (next, []) }
        let replies = results.compactMap(\.reply)
        guard isGathering else { return (next, replies) }
        gatheredReplies += replies
        return (next, [])
    }

    /// Something failed; it is reported once that is on disk.
    mutating func failureOccurred(_ report: FailureReport, isGathering: Bool) -> Next {
        defer { assert(isConsistent) }
        // On a full disk nothing leaves the queue.
        guard waitingReports < limits.outboxRecords else {
            overflow += 1
            return .nothing
        }
        waitingReports += 1
        return append([.failed(report)], .soon, isGathering)
    }

    /// The broker has replies and reports: after a crash before that is on disk they go out once more, so it can wait.
    mutating func replyAcknowledged(_ entries: [Entry], isGathering: Bool) -> Next {
        defer { assert(isConsistent) }
        return append(entries, .deferred, isGathering)
    }

    /// A reply is too large for the broker, or a stored report is damaged.
    mutating func storedMessageChanged(_ entry: Entry, isGathering: Bool) -> Next {
        defer { assert(isConsistent) }
        return append([entry], .soon, isGathering)
    }

    private mutating func append(_ entries: [Entry], _ urgency: Urgency, _ isGathering: Bool) -> Next {
        guard !isClosed else { return .giveUp }
        let urgency = isDurable ? urgency : .deferred
        if urgency == .deferred { deferred += entries } else { waiting += entries }
        guard isGathering || urgency == .deferred && deferred.count < Self.deferredLimit else {
            return commit(urgency == .here ? .commit : .commitInBackground)
        }
        return startTimer()
    }

    /// The caller commits, unless another thread does: that looks for more then.
    private mutating func commit(_ next: Next) -> Next {
        defer { committer = .more }
        return committer == .none ? next : .nothing
    }

    // MARK: Time

    /// What waits goes with a commit after a moment.
    mutating func startTimer() -> Next {
        defer { assert(isConsistent) }
        defer { isTimed = true }
        return isTimed ? .nothing : .wait(flushes: flushes)
    }

    /// The moment is over.
    mutating func timePassed(since start: Int) -> Next {
        defer { assert(isConsistent) }
        // What waits now came later.
        if flushes != start, waiting.isEmpty, !deferred.isEmpty { return .wait(flushes: flushes) }
        isTimed = false
        flush()
        return waiting.isEmpty && received.isEmpty ? .nothing : commit(.commitInBackground)
    }

    /// The calling thread has gathered enough: what to do, and replies that go out without a commit.
    mutating func gatheringEnded() -> (Next, [OutboxItem]) {
        defer { assert(isConsistent) }
        defer { gatheredReplies = [] }
        return (waiting.isEmpty ? .nothing : commit(.commit), gatheredReplies)
    }

    /// What was deferred goes with the next commit.
    mutating func flush() {
        defer { assert(isConsistent) }
        flushes += 1
        // Moved where that can be, and not copied.
        if waiting.isEmpty { swap(&waiting, &deferred) } else { waiting += deferred }
        deferred = []
    }

    /// Takes nothing more.
    mutating func close() {
        defer { assert(isConsistent) }
        isClosed = true
        flush()
    }

    /// The last commit has failed: what waits will not be on disk.
    mutating func giveUp() -> [Entry] {
        defer { assert(isConsistent) }
        defer { waiting = [] }
        return waiting
    }

    /// Whether reports about commands of `sender` find no space.
    func isOutboxFull(for sender: String) -> Bool {
        counters.isOutboxFull || counters.fullSenders.contains(sender)
    }

    // MARK: Commits

    /// A commit begins: what it takes is what was received, for nothing else of a command may be on disk before it, and
    /// the first entries.
    ///
    /// - Parameter steps: how much else it writes; 0 when it is there for the entries.
    mutating func commitBegan(_ steps: Int) -> JournalBatch {
        defer { assert(isConsistent) }
        // Entries that could not be stored keep nothing else from the disk.
        let takesEntries = steps == 0 || !isFailing
        if takesEntries, !isDurable || deferred.count >= Self.batchSize { flush() }
        var batch = JournalBatch(received: received, takesEntries: takesEntries, quota: quota)
        received = []
        guard takesEntries else { return batch }
        batch.overflow = overflow
        let count = max(0, limits.commitEntries - steps)
        if count >= waiting.count {
            swap(&batch.entries, &waiting)
            if committer == .more { committer = .last }
        } else {
            batch.entries = Array(waiting.prefix(count))
            waiting.removeFirst(count)
        }
        return batch
    }

    /// It is on disk; called before another commit begins.
    ///
    /// - Parameter repeated: rows whose replies go out again.
    /// - Returns: What to do.
    @discardableResult
    mutating func committed(_ batch: JournalBatch, repeated: [Int64]) -> Next {
        defer { assert(isConsistent) }
        if !batch.entries.isEmpty { isFailing = false }
        quota = batch.quota
        let lost = overflow - batch.overflow
        quota.lost(lost)
        overflow = 0
        receivedCount -= batch.received.count
        waitingReports -= batch.entries.count { if case .failed = $0 { true } else { false } }
        waitingReplyBytes -= Self.replyBytes(batch.entries)
        showQuota()
        forgetAcknowledgements(of: repeated)
        // Those that were lost while this was being written must be on disk too, and nothing else may come for long.
        return lost > 0 ? commit(.commitInBackground) : .nothing
    }

    /// All of it goes back to its place, and is tried again; called before another commit begins.
    mutating func commitFailed(_ batch: JournalBatch) -> Next {
        defer { assert(isConsistent) }
        received = batch.received + received
        guard batch.takesEntries else { return .nothing }
        isFailing = true
        guard !batch.entries.isEmpty else { return .nothing }
        waiting = batch.entries + waiting
        return commit(.commitInBackground)
    }

    /// The thread that commits has done so; true when it must commit what came meanwhile.
    mutating func committerEnded() -> Bool {
        defer { assert(isConsistent) }
        if committer != .more { committer = .none }
        return committer == .more
    }

    /// The acknowledgements of these that still wait are of an earlier delivery.
    private mutating func forgetAcknowledgements(of repeated: [Int64]) {
        guard !repeated.isEmpty else { return }
        let repeated = Set(repeated)
        let isOfThem = { (entry: Entry) in
            if case .replyAcknowledged(let sequence) = entry { repeated.contains(sequence) } else { false }
        }
        deferred.removeAll(where: isOfThem)
        waiting.removeAll(where: isOfThem)
    }

    private static func replyBytes(_ entries: [Entry]) -> Int {
        entries.reduce(0) { if case .ended(let result, _) = $1 { $0 + result.reply.count } else { $0 } }
    }
}

extension JournalState.Entry {
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

    /// Tells who waits for it whether it is on disk, or never will be.
    func settle(_ isOnDisk: Bool) {
        switch self {
        case .step(_, _, let then), .mark(let then): then(isOnDisk)
        case .ended, .failed, .replyAcknowledged, .replyReplaced, .reportRemoved: break
        }
    }
}
