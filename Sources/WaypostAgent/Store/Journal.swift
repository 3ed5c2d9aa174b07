import CoreMetrics
import Waypost
import WaypostMessages

/// Makes what happened durable, many at a time, and lets go out what must not go out before.
///
/// While one commit waits for the disk the next entries gather, so that under load a commit carries many.
final class Journal: Sendable {
    enum Entry: Sendable {
        /// A handler may run once this is on disk; `then` is called at that moment.
        case started(sequence: Int64, attempt: Int, then: @Sendable () -> Void)
        case ended(sequence: Int64, attempt: Int, reply: [UInt8], ReplyAddress)
        case failed(FailureReport)
        /// The broker has the reply of the stored command.
        case replyAcknowledged(sequence: Int64)
        /// The broker has the row of the outbox.
        case outboxAcknowledged(sequence: Int64)
    }

    private let mailbox = Mailbox<Entry>()
    private let store: Store
    private let underWay: CommandsUnderWay
    private let outbox: Outbox
    private let events: EventLog
    private let failures: FailureLog
    private let health: HealthMonitor
    private let redaction: Redaction
    private let failureTopic: String
    private let clock: AgentClock
    private let quota: Guarded<OutboxQuota>
    private let commitEntries: Int

    init(
        store: Store, underWay: CommandsUnderWay, outbox: Outbox, events: EventLog, failures: FailureLog,
        health: HealthMonitor,
        redaction: Redaction, failureTopic: String,
        clock: AgentClock, limits: AgentLimits
    ) {
        self.clock = clock
        quota = Guarded(OutboxQuota(records: limits.outboxRecords, bytes: limits.outboxBytes))
        commitEntries = limits.commitEntries
        self.store = store
        self.underWay = underWay
        self.outbox = outbox
        self.events = events
        self.failures = failures
        self.health = health
        self.redaction = redaction
        self.failureTopic = failureTopic
    }

    /// Counts the reports that an earlier run left on disk.
    func tookUp(_ records: [OutboxRecord]) {
        quota.withLock { for record in records { $0.stored(record) } }
    }

    func append(_ entry: Entry) { mailbox.send(entry) }

    /// Stores the end of a command; its reply and its failure report go out once they are on disk.
    func end(_ work: Work, _ verdict: Verdict, milliseconds: Int64, at now: Int64) {
        let reply = Reply(
            id: work.command.id, code: verdict.code, result: verdict.result, milliseconds: milliseconds,
            attempt: work.attempts + 1, at: now, detail: verdict.detail, nearest: verdict.nearest)
        health.count(reply.status)
        health.metrics.handler.recordMilliseconds(milliseconds)
        mailbox.send(
            .ended(
                sequence: work.sequence, attempt: work.attempts + 1, reply: reply.encoded(), work.address))
        if verdict.isFailure {
            report(
                FailureReport(
                    id: Identifier.ulid(at: now), code: verdict.code, origin: verdict.room,
                    ref: work.command.id,
                    url: verdict.url, detail: verdict.detail ?? verdict.code.name, nearest: verdict.nearest,
                    at: now))
        }
    }

    /// Tells the sender that the work will take longer.
    func sendAccepted(_ work: Work, at now: Int64) {
        let reply = Reply.accepted(id: work.command.id, attempt: work.attempts + 1, at: now)
        outbox.enqueue(
            [OutboxItem(origin: .volatile, kind: .reply, message: work.address.message(reply.encoded()))])
    }

    /// Reports a failure: an event at once, the report once it is on disk; equal ones are counted together.
    func report(_ failure: FailureReport) {
        var failure = failure
        failure.url = failure.url.map(redaction.masked)
        failure.detail = redaction.masked(failure.detail)
        events.log(failure)
        for report in failures.occurred(failure) { mailbox.send(.failed(report)) }
    }

    /// Ends ``run()`` once everything that was appended is on disk.
    func close() { mailbox.close() }

    /// Commits until ``close()``; a full disk is waited for.
    func run() async {
        while let entries = await mailbox.next() {
            for batch in entries.chunks(commitEntries) {
                guard await commit(batch) else { return }
            }
        }
    }

    /// Commits a batch and lets go out what waited for it; false when cancelled before it was done.
    private func commit(_ batch: ArraySlice<Entry>) async -> Bool {
        while true {
            // A commit that fails must leave no trace: it works on a copy.
            let quota = quota.withLock { $0 }
            do {
                let written = try await store.commitInBackground { try self.write(batch, quota, in: $0) }
                self.quota.withLock { $0 = written.quota }
                health.update {
                    $0.isOutboxFull = written.quota.isFull
                    $0.droppedReports = written.quota.dropped
                }
                health.storeRecovered()
                release(batch, written.records)
                return true
            } catch {
                health.storeFailed(error)
                if Task.isCancelled { return false }
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    private struct Written: Sendable {
        var records: [OutboxRecord] = []
        var quota: OutboxQuota

        mutating func store(
            _ report: FailureReport, on topic: String, in transaction: Store.Transaction
        ) throws {
            let record = try transaction.append(topic: topic, payload: report.encoded())
            quota.stored(record)
            records.append(record)
        }
    }

    private func write(
        _ batch: ArraySlice<Entry>, _ quota: OutboxQuota, in transaction: Store.Transaction
    ) throws -> Written {
        var written = Written(quota: quota)
        for entry in batch {
            switch entry {
            case .started(let sequence, let attempt, _): try transaction.start(sequence, attempt: attempt)
            case .ended(let sequence, let attempt, let reply, _):
                try transaction.finish(sequence, reply: reply, attempt: attempt)
            case .failed(let report):
                guard written.quota.admits() else { continue }
                try written.store(report, on: failureTopic, in: transaction)
            case .replyAcknowledged(let sequence): try transaction.acknowledge(sequence)
            case .outboxAcknowledged(let sequence):
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
            detail: "\(count) failure reports found no room in the outbox while the broker was away", at: now)
        report.count = count
        return report
    }

    private func release(_ batch: ArraySlice<Entry>, _ stored: [OutboxRecord]) {
        var items: [OutboxItem] = []
        var ended: [Int64] = []
        for entry in batch {
            switch entry {
            case .started(_, _, let then):
                FaultPoint.afterStarted.reached()
                then()
            case .ended(let sequence, _, let reply, let address):
                FaultPoint.afterResult.reached()
                ended.append(sequence)
                items.append(
                    OutboxItem(
                        origin: .reply(sequence: sequence), kind: .reply, message: address.message(reply)))
            case .failed, .replyAcknowledged, .outboxAcknowledged: break
            }
        }
        underWay.ended(ended)
        outbox.enqueue(items + stored.map(OutboxItem.init))
    }
}
