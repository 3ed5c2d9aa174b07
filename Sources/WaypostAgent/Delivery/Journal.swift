import CoreMetrics
import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// Stores what happened, many entries in one commit, and then sends what must not be sent before.
///
/// While one commit waits for the disk the next entries gather, so that under load a commit carries many.
final class Journal: Sendable {
    enum Entry: Sendable {
        /// A handler may run once this is on disk; `then` is called with true at that moment, and with false when
        /// the journal was closed before.
        case started(sequence: Int64, attempt: Int, then: @Sendable (Bool) -> Void)
        case ended(sequence: Int64, attempt: Int, reply: [UInt8], ReplyAddress)
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

    private struct State {
        var counters = Counters()
        var quota: ReportQuota
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

    private let mailbox = Mailbox<Entry>()
    private let store: Store
    private let outbox: Outbox
    private let failureTopic: String
    private let clock: AgentClock
    private let limits: AgentLimits
    private let handlerTimer: Timer
    private let connections: Connections
    private let state: Guarded<State>

    init(
        store: Store, outbox: Outbox, failureTopic: String, clock: AgentClock, limits: AgentLimits,
        handlerTimer: Timer, connections: Connections
    ) throws(StoreError) {
        self.store = store
        self.outbox = outbox
        self.failureTopic = failureTopic
        self.clock = clock
        self.limits = limits
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

    /// Makes it durable that a command was started; false when the journal was closed before.
    func storeStart(of job: CommandJob) async -> Bool {
        await withCheckedContinuation { continuation in
            send(
                .started(sequence: job.sequence, attempt: job.attempt) { continuation.resume(returning: $0) })
        }
    }

    /// Stores the end of a command; its reply goes out once it is on disk.
    func end(_ job: CommandJob, _ result: CommandResult, milliseconds: Int64) {
        var reply = Reply(
            id: job.command.id, code: result.code, result: result.value, milliseconds: milliseconds,
            attempt: job.attempt, at: clock.wall(), detail: result.detail?.cut(to: Reporter.maximumDetail),
            nearest: result.nearest, warnings: job.command.warnings)
        var bytes = reply.encoded()
        if let reason = reasonToReplace(bytes.count) {
            reply = Reply.tooLarge(bytes.count, reason, inPlaceOf: reply)
            bytes = reply.encoded()
        }
        state.withLock { state in
            state.counters.ended[reply.status, default: 0] += 1
            state.waitingReplyBytes += bytes.count
        }
        handlerTimer.recordMilliseconds(milliseconds)
        send(.ended(sequence: job.sequence, attempt: job.attempt, reply: bytes, job.address))
    }

    /// Why a reply of so many bytes is too large; nil when it is not.
    private func reasonToReplace(_ bytes: Int) -> String? {
        if bytes > limits.packetBytes { return "\(limits.packetBytes) can be sent" }
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
        if mayWait { send(.failed(report)) }
    }

    /// The broker has a stored message.
    func acknowledged(_ item: OutboxItem) {
        switch item.origin {
        case .reply(let sequence):
            FaultPoint.beforeReplyAcknowledged.reached()
            // After a crash before that, the reply goes out once more: it can wait for the next commit.
            send(.replyAcknowledged(sequence: sequence), isPatient: true)
        case .stored(let sequence): send(.reportRemoved(sequence: sequence), isPatient: true)
        case .volatile: break
        }
    }

    /// A stored reply is too large for the broker: one that says so takes its place.
    func tooLarge(_ item: OutboxItem, limit: Int?) {
        guard case .reply(let sequence) = item.origin,
            let json = try? JSONValue(parsing: item.message.payload, limits: .trustedFile),
            let reply = try? Reply(json)
        else { return }
        let reason = limit.map { "\($0) can be sent" } ?? "the broker takes no packet as large"
        let smaller = Reply.tooLarge(item.message.payload.count, reason, inPlaceOf: reply)
        // A reply that can't be made smaller stays stored.
        let fewer = item.message.payload.count - smaller.encoded().count
        guard fewer > 0 else { return }
        var message = item.message
        message.payload = smaller.encoded()
        send(.replyReplaced(sequence: sequence, message, fewer: fewer))
    }

    /// A stored report was damaged and is set aside: it takes no space any more.
    func reportDamaged(_ sequence: Int64) { send(.reportRemoved(sequence: sequence)) }

    private func send(_ entry: Entry, isPatient: Bool = false) {
        if !mailbox.send(entry, isPatient: isPatient), case .started(_, _, let then) = entry { then(false) }
    }

    // MARK: Committing

    /// Ends ``run()`` after one more attempt to store what waits.
    func close() {
        state.withLock { $0.isClosed = true }
        mailbox.close()
    }

    /// Commits until ``close()``; on a full disk it tries again until then.
    func run() async {
        while let entries = await mailbox.next() {
            for batch in entries.chunks(limits.commitEntries) {
                guard await commit(batch) else {
                    for case .started(_, _, let then) in entries[batch.startIndex...] { then(false) }
                    break
                }
            }
        }
    }

    /// Commits a batch and sends what waited for it; false when the journal was closed before that succeeded.
    private func commit(_ batch: ArraySlice<Entry>) async -> Bool {
        while true {
            // A commit that fails must change nothing here: it works on a copy.
            let (quota, overflow) = state.withLock { ($0.quota, $0.overflow) }
            do {
                // On a thread of the agent, which may wait for the disk: handing it to another costs more.
                let written = try store.commit { try self.write(batch, quota, overflow, in: $0) }
                stored(written, batch, overflow)
                return true
            } catch {
                if state.withLock(\.isClosed) { return false }
                await AgentThreads.sleep(for: .seconds(1))
            }
        }
    }

    private struct Written: Sendable {
        var records: [OutboxRecord] = []
        var quota: ReportQuota
        /// Whether failures were kept, and the senders that caused some.
        var hasFailures = false
        var failing: Set<String> = []

        mutating func store(
            _ report: FailureReport, on topic: String, in transaction: Store.Transaction
        ) throws {
            let record = try transaction.append(
                topic: topic, payload: report.encoded(), sender: report.sender)
            quota.stored(record.sequence, bytes: record.payload.count, of: report.sender)
            records.append(record)
        }

        /// Keeps a report for who asks later.
        mutating func remember(_ report: FailureReport, in transaction: Store.Transaction) throws {
            try transaction.remember(report)
            hasFailures = true
            if let sender = report.sender { failing.insert(sender) }
        }
    }

    private func write(
        _ batch: ArraySlice<Entry>, _ quota: ReportQuota, _ overflow: Int64,
        in transaction: Store.Transaction
    ) throws -> Written {
        var written = Written(quota: quota)
        written.quota.lost(overflow)
        let isTight = store.isTight()
        let now = clock.wall()
        for entry in batch {
            switch entry {
            case .started(let sequence, let attempt, _):
                try transaction.start(sequence, attempt: attempt, at: now)
            case .ended(let sequence, let attempt, let reply, _):
                try transaction.finish(sequence, reply: reply, attempt: attempt)
            case .failed(let report):
                guard !isTight else {
                    written.quota.lost(1)
                    continue
                }
                // Also what the outbox has no space for.
                try written.remember(report, in: transaction)
                guard written.quota.admits(of: report.sender) else { continue }
                try written.store(report, on: failureTopic, in: transaction)
            case .replyAcknowledged(let sequence): try transaction.acknowledge(sequence, at: now)
            case .replyReplaced(let sequence, let message, _):
                try transaction.replaceReply(sequence, with: message.payload)
            case .reportRemoved(let sequence):
                try transaction.removeFromOutbox(sequence)
                written.quota.removed(sequence)
            }
        }
        while !isTight, let (sender, count) = written.quota.takeDropped() {
            let report = dropReport(of: count, sender)
            try written.remember(report, in: transaction)
            try written.store(report, on: failureTopic, in: transaction)
        }
        if written.hasFailures {
            try transaction.forgetFailures(
                of: written.failing, share: AgentLimits.pastFailures.share(limits.senderShare),
                limit: AgentLimits.pastFailures)
        }
        return written
    }

    private func dropReport(of count: Int64, _ sender: String?) -> FailureReport {
        let now = clock.wall()
        let detail =
            sender.map {
                "\(count) failure reports about messages of \($0) found no space in its share of the outbox"
            }
            ?? "\(count) failure reports found no space in the outbox"
        var report = FailureReport(
            id: Identifier.ulid(at: now), code: .dropped, origin: .agent, detail: detail, at: now)
        report.count = count
        report.sender = sender
        return report
    }

    private func stored(_ written: Written, _ batch: ArraySlice<Entry>, _ overflow: Int64) {
        state.withLock { state in
            state.quota = written.quota
            // Those that came while this was being written too: it may be the last commit for long.
            state.quota.lost(state.overflow - overflow)
            state.overflow = 0
            state.waitingReports -= batch.count { if case .failed = $0 { true } else { false } }
            state.waitingReplyBytes -= batch.reduce(0) {
                if case .ended(_, _, let reply, _) = $1 { $0 + reply.count } else { $0 }
            }
            state.counters.isOutboxFull = written.quota.isFull
            state.counters.fullSenders = written.quota.fullSenders
            state.counters.droppedReports = state.quota.dropped
        }
        var items: [OutboxItem] = []
        var ended: [(sequence: Int64, bytes: Int)] = []
        for entry in batch {
            switch entry {
            case .started(_, _, let then): then(true)
            case .ended(let sequence, _, let reply, let address):
                FaultPoint.afterResult.reached()
                ended.append((sequence, reply.count))
                items.append(
                    OutboxItem(
                        origin: .reply(sequence: sequence), kind: .reply, message: address.message(reply)))
            case .replyReplaced(let sequence, let message, let fewer):
                connections.replyReplaced(message.topic, fewer)
                items.append(
                    OutboxItem(origin: .reply(sequence: sequence), kind: .reply, message: message))
            case .failed, .replyAcknowledged, .reportRemoved: break
            }
        }
        connections.resultsStored(ended)
        outbox.enqueue(items + written.records.map(OutboxItem.init))
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
