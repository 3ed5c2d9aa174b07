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
    private let outbox: Outbox
    private let events: EventLog
    private let failures: FailureLog
    private let health: HealthMonitor
    private let redaction: Redaction
    private let failureTopic: String

    init(
        store: Store, outbox: Outbox, events: EventLog, failures: FailureLog, health: HealthMonitor,
        redaction: Redaction, failureTopic: String
    ) {
        self.store = store
        self.outbox = outbox
        self.events = events
        self.failures = failures
        self.health = health
        self.redaction = redaction
        self.failureTopic = failureTopic
    }

    func append(_ entry: Entry) { mailbox.send(entry) }

    /// Stores the end of a command; its reply and its failure report go out once they are on disk.
    func end(_ work: Work, _ verdict: Verdict, milliseconds: Int64, at now: Int64) {
        let reply = Reply(
            id: work.command.id, code: verdict.code, result: verdict.result, milliseconds: milliseconds,
            attempt: work.attempts + 1, at: now, detail: verdict.detail, nearest: verdict.nearest)
        health.count(reply.status)
        mailbox.send(
            .ended(
                sequence: work.sequence, attempt: work.attempts + 1, reply: reply.encoded(), work.address))
        if verdict.isFailure {
            report(
                FailureReport(
                    id: Identifier.ulid(at: now), code: verdict.code, room: verdict.room,
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
        if let first = failures.occurred(failure) { mailbox.send(.failed(first)) }
    }

    /// Ends ``run()`` once everything that was appended is on disk.
    func close() { mailbox.close() }

    /// Commits until ``close()``; a full disk is waited for.
    func run() async {
        while let batch = await mailbox.next() {
            while true {
                do {
                    let stored = try await store.commitInBackground({ try self.write(batch, in: $0) })
                    health.storeRecovered()
                    release(batch, stored)
                    break
                } catch {
                    health.storeFailed(error)
                    if Task.isCancelled { return }
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    private func write(_ batch: [Entry], in transaction: Store.Transaction) throws -> [OutboxRecord]
    {
        var stored: [OutboxRecord] = []
        for entry in batch {
            switch entry {
            case .started(let sequence, let attempt, _): try transaction.start(sequence, attempt: attempt)
            case .ended(let sequence, let attempt, let reply, _):
                try transaction.finish(sequence, reply: reply, attempt: attempt)
            case .failed(let report):
                stored.append(try transaction.append(topic: failureTopic, payload: report.encoded()))
            case .replyAcknowledged(let sequence): try transaction.acknowledge(sequence)
            case .outboxAcknowledged(let sequence): try transaction.removeFromOutbox(sequence)
            }
        }
        return stored
    }

    private func release(_ batch: [Entry], _ stored: [OutboxRecord]) {
        var items: [OutboxItem] = []
        for entry in batch {
            switch entry {
            case .started(_, _, let then):
                FaultPoint.afterStarted.reached()
                then()
            case .ended(let sequence, _, let reply, let address):
                FaultPoint.afterResult.reached()
                items.append(
                    OutboxItem(
                        origin: .reply(sequence: sequence), kind: .reply, message: address.message(reply)))
            case .failed, .replyAcknowledged, .outboxAcknowledged: break
            }
        }
        outbox.enqueue(items + stored.map(OutboxItem.init))
    }
}
