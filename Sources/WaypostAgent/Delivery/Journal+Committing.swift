import MQTTLink
import Threading
import Waypost
import WaypostMessages

extension Journal {
    /// Commits what waits on this thread; what came meanwhile is left to one of the agent.
    func storeHere() {
        if (try? commit { _ in }) == nil || resumeCommitting() { commitInBackground() }
    }

    /// Commits on a thread of the agent until nothing urgent waits; on a full disk it tries again until ``close()``.
    func commitInBackground() {
        AgentThreads.start { [self] in
            repeat {
                while (try? commit { _ in }) == nil {
                    guard !state.withLock(\.isClosed) else { return }
                    await AgentThreads.sleep(for: Self.retryInterval)
                }
            } while resumeCommitting()
        }
    }

    /// Stores all that waits, acknowledgements too; on a full disk it goes on waiting.
    func storeWaiting() {
        state.withLock { $0.flushDeferred() }
        _ = try? commit { _ in }
    }

    /// Whether something urgent came meanwhile, which this thread then commits too.
    private func resumeCommitting() -> Bool {
        state.withLock { state in
            state.isStoring = state.isUrgent
            return state.isStoring
        }
    }

    /// Takes nothing more, after one more attempt to store what waits.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.flushDeferred()
        }
        if (try? commit { _ in }) == nil { Self.giveUp(state.withLock(\.waiting)) }
    }

    /// What one commit stores beside its body.
    struct Batch {
        var received: [NewCommand] = []
        var entries: [Entry] = []
    }

    /// Stores what was received and the first entries that wait, runs `body` in the same transaction, and sends what
    /// waited for it.
    ///
    /// Entries that could not be stored are not taken along any more, so that they keep nothing else from the disk.
    ///
    /// - Parameters:
    ///   - steps: how much else it writes; 0 when it is there for the entries.
    ///   - reopened: the replies that go out again; the broker's acknowledgements that still wait here are of an earlier
    ///     delivery, and are forgotten.
    ///   - body: called when the rest is written, and called again, without entries, when the transaction with them
    ///     failed.
    func commit<Value>(
        steps: Int = 0, reopening reopened: [Int64] = [], _ body: (Store.Transaction) throws -> Value
    ) throws(StoreError) -> Value {
        var batch = Batch()
        var takesAlong = false
        do throws(StoreError) {
            return try store.commit { transaction in
                var written = state.withLock { state in
                    takesAlong = steps == 0 || !state.isFailing
                    if takesAlong, !isDurable { state.flushDeferred() }
                    batch = state.take(takesAlong ? limits.commitEntries - steps : 0)
                    return Written(quota: state.quota, overflow: takesAlong ? state.overflow : 0)
                }
                let ended = try store(batch, in: transaction)
                if takesAlong { try write(batch.entries, &written, except: ended, in: transaction) }
                let value = try body(transaction)
                try transaction.reopen(reopened)
                return (value, written)
            } then: {
                forgetAcknowledgements(of: reopened)
                // Here, because what is first on the disk must be first to be sent.
                stored($0.1, batch)
            } otherwise: {
                failed(batch, takesAlong)
            }.0
        } catch {
            guard takesAlong, steps > 0 else { throw error }
            return try commit(steps: steps, reopening: reopened, body)
        }
    }

    private struct Written: Sendable {
        var records: [OutboxRecord] = []
        /// A commit that fails must change nothing here: this is a copy.
        var quota: ReportQuota
        /// The dropped reports that are in it.
        var overflow: Int64 = 0
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

    /// Stores commands as far as they have come by now; returns the rows of those that have results.
    private func store(_ batch: Batch, in transaction: Store.Transaction) throws -> Set<Int64> {
        guard !batch.received.isEmpty else { return [] }
        var results = [Int64: InboxResult](minimumCapacity: batch.received.count)
        for case .ended(let result, _) in batch.entries { results[result.sequence] = result }
        // With ``Durability/off`` the broker may have the reply before the command is stored.
        let now = clock.wall()
        for case .replyAcknowledged(let sequence) in batch.entries { results[sequence]?.acknowledged = now }
        try transaction.receive(batch.received, results: results)
        var ended = Set<Int64>(minimumCapacity: results.count)
        for case let sequence? in batch.received.lazy.map(\.sequence) where results[sequence] != nil {
            ended.insert(sequence)
        }
        return ended
    }

    /// - Parameter ended: rows that have their results already, and their acknowledgements.
    private func write(
        _ entries: [Entry], _ written: inout Written, except ended: Set<Int64>,
        in transaction: Store.Transaction
    ) throws {
        written.quota.lost(written.overflow)
        let isTight = store.isTight()
        let now = clock.wall()
        var acknowledged: [Int64] = []
        for entry in entries {
            switch entry {
            case .step(let step, let sequence, _): try transaction.step(sequence, step, at: now)
            case .mark: break
            case .ended(let result, _):
                if !ended.contains(result.sequence) { try transaction.finish(result) }
            case .failed(let report):
                guard !isTight else {
                    written.quota.lost(1)
                    continue
                }
                // Also what the outbox has no space for.
                try written.remember(report, in: transaction)
                guard written.quota.admits(of: report.sender) else { continue }
                try written.store(report, on: failureTopic, in: transaction)
            case .replyAcknowledged(let sequence):
                if !ended.contains(sequence) { acknowledged.append(sequence) }
            case .replyReplaced(let sequence, let message, _):
                try transaction.replaceReply(sequence, with: message.payload)
            case .reportRemoved(let sequence):
                try transaction.removeFromOutbox(sequence)
                written.quota.removed(sequence)
            }
        }
        try transaction.acknowledge(acknowledged, at: now)
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
    }

    private func dropReport(of count: Int64, _ sender: String?) -> FailureReport {
        let now = clock.wall()
        let detail =
            sender.map {
                "\(count) failure reports about messages of \($0) did not fit in its share of the outbox"
            }
            ?? "\(count) failure reports did not fit in the outbox"
        var report = FailureReport(
            id: Identifier.ulid(at: now), code: .dropped, origin: .agent, detail: detail, at: now)
        report.count = count
        report.sender = sender
        return report
    }

    /// All of it goes back to its place, and is tried again; called before another commit begins.
    private func failed(_ batch: Batch, _ hadEntries: Bool) {
        let stores = state.withLock { state in
            state.received = batch.received + state.received
            guard hadEntries else { return false }
            state.isFailing = true
            guard !batch.entries.isEmpty else { return false }
            state.waiting = batch.entries + state.waiting
            state.isUrgent = true
            defer { state.isStoring = true }
            return !state.isStoring
        }
        if stores { commitInBackground() }
    }

    private func forgetAcknowledgements(of reopened: [Int64]) {
        guard !reopened.isEmpty else { return }
        let reopened = Set(reopened)
        state.withLock { state in
            let isOfThem = { (entry: Entry) in
                if case .replyAcknowledged(let sequence) = entry {
                    reopened.contains(sequence)
                } else {
                    false
                }
            }
            state.deferred.removeAll(where: isOfThem)
            state.waiting.removeAll(where: isOfThem)
        }
    }

    /// The entries are on disk; called before another commit begins.
    private func stored(_ written: Written, _ batch: Batch) {
        let entries = batch.entries
        state.withLock { state in
            state.isFailing = state.isFailing && entries.isEmpty
            state.quota = written.quota
            // Those that came while this was being written too: it may be the last commit for long.
            state.quota.lost(state.overflow - written.overflow)
            state.overflow = 0
            state.receivedCount -= batch.received.count
            state.waitingReports -= entries.count { if case .failed = $0 { true } else { false } }
            state.waitingReplyBytes -= entries.reduce(0) {
                if case .ended(let result, _) = $1 { $0 + result.reply.count } else { $0 }
            }
            state.counters.isOutboxFull = written.quota.isFull
            state.counters.fullSenders = written.quota.fullSenders
            state.counters.droppedReports = state.quota.dropped
        }
        publish(entries, written)
    }

    /// Sends what waited for a commit, and calls who waited.
    private func publish(_ entries: [Entry], _ written: Written) {
        var items: [OutboxItem] = []
        var ended: [(sequence: Int64, bytes: Int)] = []
        for entry in entries {
            switch entry {
            case .step(_, _, let then), .mark(let then): then(true)
            case .ended(let result, _):
                FaultPoint.afterResult.reached()
                ended.append((result.sequence, result.reply.count))
                if isDurable, let reply = entry.reply { items.append(reply) }
            case .replyReplaced(_, let message, let fewer):
                connections.replyReplaced(message.topic, fewer)
                if let reply = entry.reply { items.append(reply) }
            case .failed, .replyAcknowledged, .reportRemoved: break
            }
        }
        if !ended.isEmpty { connections.resultsStored(ended) }
        outbox.enqueue(items + written.records.map(OutboxItem.init))
    }
}

extension Journal.State {
    /// Moves what was deferred to what the next commit takes.
    mutating func flushDeferred() {
        flushes += 1
        // Moved where that can be, and not copied.
        if waiting.isEmpty { swap(&waiting, &deferred) } else { waiting += deferred }
        deferred = []
    }

    /// Takes what was received, for nothing else of a command may be stored before, and the first entries that wait,
    /// at most so many.
    fileprivate mutating func take(_ count: Int) -> Journal.Batch {
        defer { received = [] }
        if deferred.count >= Journal.batchSize { flushDeferred() }
        guard count < waiting.count else {
            isUrgent = false
            defer { waiting = [] }
            return Journal.Batch(received: received, entries: waiting)
        }
        defer { waiting.removeFirst(max(0, count)) }
        return Journal.Batch(received: received, entries: Array(waiting.prefix(max(0, count))))
    }
}
