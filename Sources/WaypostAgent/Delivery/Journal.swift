import CoreMetrics
import MQTTLink
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
        /// The reply is too large for the broker; another takes its place.
        case replyReplaced(sequence: Int64, MQTTMessage)
        /// The broker has the row of the outbox.
        case reportAcknowledged(sequence: Int64)
    }

    /// What health shows.
    struct Counters: Sendable {
        var ended: [Code.Status: Int64] = [:]
        var isOutboxFull = false
        /// Reports that found no space and are still to be reported.
        var droppedReports: Int64 = 0
    }

    private struct State {
        var counters = Counters()
        var quota: ReportQuota
        /// Reports that wait for the disk.
        var waitingReports = 0
        /// Reports that were dropped because too many wait for the disk.
        var overflow: Int64 = 0
        var isClosed = false
    }

    private let mailbox = Mailbox<Entry>()
    private let store: Store
    private let outbox: Outbox
    private let failureTopic: String
    private let clock: AgentClock
    private let limits: AgentLimits
    private let handlerTimer: Timer
    /// Commands whose results are on disk.
    private let resultsStored: @Sendable ([Int64]) -> Void
    private let state: Guarded<State>

    init(
        store: Store, outbox: Outbox, failureTopic: String, clock: AgentClock, limits: AgentLimits,
        handlerTimer: Timer, resultsStored: @escaping @Sendable ([Int64]) -> Void
    ) throws(StoreError) {
        self.store = store
        self.outbox = outbox
        self.failureTopic = failureTopic
        self.clock = clock
        self.limits = limits
        self.handlerTimer = handlerTimer
        self.resultsStored = resultsStored
        var quota = ReportQuota(records: limits.outboxRecords, bytes: limits.outboxBytes)
        for (sequence, bytes) in try store.commit({ try $0.outboxSizes() }) {
            quota.stored(sequence, bytes: bytes)
        }
        state = Guarded(State(quota: quota))
    }

    var counters: Counters { state.withLock(\.counters) }
    var isOutboxFull: Bool { state.withLock(\.counters.isOutboxFull) }

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
            attempt: job.attempt, at: clock.wall(), detail: result.detail, nearest: result.nearest)
        var bytes = reply.encoded()
        if bytes.count > limits.packetBytes {
            reply = Reply.tooLarge(bytes.count, limit: limits.packetBytes, inPlaceOf: reply)
            bytes = reply.encoded()
        }
        state.withLock { $0.counters.ended[reply.status, default: 0] += 1 }
        handlerTimer.recordMilliseconds(milliseconds)
        send(.ended(sequence: job.sequence, attempt: job.attempt, reply: bytes, job.address))
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
            send(.replyAcknowledged(sequence: sequence))
        case .stored(let sequence): send(.reportAcknowledged(sequence: sequence))
        case .volatile: break
        }
    }

    /// A stored reply is too large for the broker: one that says so takes its place.
    func tooLarge(_ item: OutboxItem, limit: Int?) {
        guard case .reply(let sequence) = item.origin,
            let json = try? JSONValue(parsing: item.message.payload, limits: .trustedFile),
            let reply = try? Reply(json)
        else { return }
        let smaller = Reply.tooLarge(item.message.payload.count, limit: limit, inPlaceOf: reply)
        // A reply that can't be made smaller stays stored.
        guard smaller.encoded().count < item.message.payload.count else { return }
        var message = item.message
        message.payload = smaller.encoded()
        send(.replyReplaced(sequence: sequence, message))
    }

    private func send(_ entry: Entry) {
        if !mailbox.send(entry), case .started(_, _, let then) = entry { then(false) }
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
                let written = try await store.commitInBackground {
                    try self.write(batch, quota, overflow, in: $0)
                }
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

        mutating func store(
            _ report: FailureReport, on topic: String, in transaction: Store.Transaction
        ) throws {
            let record = try transaction.append(topic: topic, payload: report.encoded())
            quota.stored(record.sequence, bytes: record.payload.count)
            records.append(record)
        }
    }

    private func write(
        _ batch: ArraySlice<Entry>, _ quota: ReportQuota, _ overflow: Int64,
        in transaction: Store.Transaction
    ) throws -> Written {
        var written = Written(quota: quota)
        written.quota.lost(overflow)
        for entry in batch {
            switch entry {
            case .started(let sequence, let attempt, _): try transaction.start(sequence, attempt: attempt)
            case .ended(let sequence, let attempt, let reply, _):
                try transaction.finish(sequence, reply: reply, attempt: attempt)
            case .failed(let report):
                guard written.quota.admits() else { continue }
                try written.store(report, on: failureTopic, in: transaction)
            case .replyAcknowledged(let sequence): try transaction.acknowledge(sequence)
            case .replyReplaced(let sequence, let message):
                try transaction.replaceReply(sequence, with: message.payload)
            case .reportAcknowledged(let sequence):
                try transaction.removeFromOutbox(sequence)
                written.quota.removed(sequence)
            }
        }
        if let dropped = written.quota.takeDropped() {
            try written.store(dropReport(of: dropped), on: failureTopic, in: transaction)
        }
        return written
    }

    private func dropReport(of count: Int64) -> FailureReport {
        let now = clock.wall()
        var report = FailureReport(
            id: Identifier.ulid(at: now), code: .dropped, origin: .agent,
            detail: "\(count) failure reports found no space in the outbox while the broker was away", at: now
        )
        report.count = count
        return report
    }

    private func stored(_ written: Written, _ batch: ArraySlice<Entry>, _ overflow: Int64) {
        state.withLock { state in
            state.quota = written.quota
            state.overflow -= overflow
            state.waitingReports -= batch.count { if case .failed = $0 { true } else { false } }
            state.counters.isOutboxFull = written.quota.isFull
            state.counters.droppedReports = written.quota.dropped
        }
        var items: [OutboxItem] = []
        var ended: [Int64] = []
        for entry in batch {
            switch entry {
            case .started(_, _, let then): then(true)
            case .ended(let sequence, _, let reply, let address):
                FaultPoint.afterResult.reached()
                ended.append(sequence)
                items.append(
                    OutboxItem(
                        origin: .reply(sequence: sequence), kind: .reply, message: address.message(reply)))
            case .replyReplaced(let sequence, let message):
                items.append(
                    OutboxItem(origin: .reply(sequence: sequence), kind: .reply, message: message))
            case .failed, .replyAcknowledged, .reportAcknowledged: break
            }
        }
        resultsStored(ended)
        outbox.enqueue(items + written.records.map(OutboxItem.init))
    }
}

extension Reply {
    /// What a sender gets instead of a reply that is too large to be sent.
    static func tooLarge(_ bytes: Int, limit: Int?, inPlaceOf reply: Reply) -> Reply {
        let taken = limit.map { "\($0) can be sent" } ?? "the broker takes no packet as large"
        return Reply(
            id: reply.id, code: .tooLarge, milliseconds: reply.milliseconds, attempt: reply.attempt,
            at: reply.at,
            detail: "the command ended with \(reply.code), and its reply has \(bytes) bytes; \(taken)")
    }
}

/// How much of the space for failure reports on disk is taken, and how many found none.
struct ReportQuota: Sendable {
    private let maximumRecords: Int
    private let maximumBytes: Int
    private var sizes: [Int64: Int] = [:]
    private var bytes = 0
    /// Reports that found no space since the last one that did.
    private(set) var dropped: Int64 = 0

    init(records: Int, bytes: Int) {
        maximumRecords = records
        maximumBytes = bytes
    }

    var isFull: Bool { sizes.count >= maximumRecords || bytes >= maximumBytes }

    /// Whether a report may be stored; one that may not is counted.
    mutating func admits() -> Bool {
        if isFull { dropped += 1 }
        return !isFull
    }

    /// Reports that never got as far as the disk.
    mutating func lost(_ count: Int64) { dropped += count }

    mutating func stored(_ sequence: Int64, bytes size: Int) {
        bytes += size
        sizes[sequence] = size
    }

    mutating func removed(_ sequence: Int64) {
        bytes -= sizes.removeValue(forKey: sequence) ?? 0
    }

    /// The number of those that found no space, once there is space again to say so.
    mutating func takeDropped() -> Int64? {
        guard dropped > 0, !isFull else { return nil }
        defer { dropped = 0 }
        return dropped
    }
}
