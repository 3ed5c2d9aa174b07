import MQTTLink
import Waypost
import WaypostMessages

/// What one commit of the journal carries, and what became of it on disk.
struct JournalBatch: Sendable {
    var received: [NewCommand]
    var entries: [JournalState.Entry] = []
    /// Whether it is there for entries: one that follows a failed one is not.
    let takesEntries: Bool
    /// A commit that fails must change nothing: this is a copy.
    var quota: ReportQuota
    /// The dropped reports that are in it.
    var overflow: Int64 = 0
    /// The failure reports that are in the outbox now.
    private(set) var records: [OutboxRecord] = []
    /// Whether failures were kept, and the senders that caused some.
    private var hasFailures = false
    private var failing: Set<String> = []

    init(received: [NewCommand], takesEntries: Bool, quota: ReportQuota) {
        self.received = received
        self.takesEntries = takesEntries
        self.quota = quota
    }

    /// Writes it; called once.
    ///
    /// - Parameters:
    ///   - isTight: whether the store has no space for reports.
    ///   - now: in milliseconds since 1970.
    mutating func write(
        in transaction: Store.Transaction, reportsTo topic: String, _ limits: AgentLimits, isTight: Bool,
        at now: Int64
    ) throws {
        let ended = try writeReceived(in: transaction, at: now)
        guard takesEntries else { return }
        quota.lost(overflow)
        var acknowledged: [Int64] = []
        for entry in entries {
            switch entry {
            case .step(let step, let sequence, _): try transaction.step(sequence, step, at: now)
            case .mark: break
            case .ended(let result, _):
                if !ended.contains(result.sequence) { try transaction.finish(result) }
            case .failed(let report):
                guard !isTight else {
                    quota.lost(1)
                    continue
                }
                // Also what the outbox has no space for.
                try remember(report, in: transaction)
                guard quota.admits(of: report.sender) else { continue }
                try append(report, to: topic, in: transaction)
            case .replyAcknowledged(let sequence):
                if !ended.contains(sequence) { acknowledged.append(sequence) }
            case .replyReplaced(let sequence, let message, _):
                try transaction.replaceReply(sequence, with: message.payload)
            case .reportRemoved(let sequence):
                try transaction.removeFromOutbox(sequence)
                quota.removed(sequence)
            }
        }
        try transaction.acknowledge(acknowledged, at: now)
        while !isTight, let (sender, count) = quota.takeDropped() {
            let report = FailureReport(dropped: count, of: sender, at: now)
            try remember(report, in: transaction)
            try append(report, to: topic, in: transaction)
        }
        if let counts = quota.takeChange() { try transaction.setDroppedReports(counts) }
        guard hasFailures else { return }
        try transaction.forgetFailures(
            of: failing, share: AgentLimits.pastFailures.share(limits.senderShare),
            limit: AgentLimits.pastFailures)
    }

    /// Writes the commands as far as they have come by now; returns the rows of those that have results, and perhaps
    /// their acknowledgements.
    private func writeReceived(in transaction: Store.Transaction, at now: Int64) throws -> Set<Int64> {
        guard !received.isEmpty else { return [] }
        var results = [Int64: InboxResult](minimumCapacity: received.count)
        for case .ended(let result, _) in entries { results[result.sequence] = result }
        // With ``Durability/off`` the broker may have the reply before the command is stored.
        for case .replyAcknowledged(let sequence) in entries { results[sequence]?.acknowledged = now }
        try transaction.receive(received, results: results)
        var ended = Set<Int64>(minimumCapacity: results.count)
        for case let sequence? in received.lazy.map(\.sequence) where results[sequence] != nil {
            ended.insert(sequence)
        }
        return ended
    }

    private mutating func append(
        _ report: FailureReport, to topic: String, in transaction: Store.Transaction
    ) throws {
        let record = try transaction.append(topic: topic, payload: report.encoded(), sender: report.sender)
        quota.stored(record.sequence, bytes: record.payload.count, of: report.sender)
        records.append(record)
    }

    /// Keeps a report for who asks later.
    private mutating func remember(_ report: FailureReport, in transaction: Store.Transaction) throws {
        try transaction.remember(report)
        hasFailures = true
        if let sender = report.sender { failing.insert(sender) }
    }
}

extension FailureReport {
    /// So many reports found no space: those about messages of a sender whose share is used up, or of all.
    fileprivate init(dropped count: Int64, of sender: String?, at now: Int64) {
        let detail =
            sender.map {
                "\(count) failure reports about messages of \($0) did not fit in its share of the outbox"
            }
            ?? "\(count) failure reports did not fit in the outbox"
        self.init(id: Identifier.ulid(at: now), code: .dropped, origin: .agent, detail: detail, at: now)
        self.count = count
        self.sender = sender
    }
}
