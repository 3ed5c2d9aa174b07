import CoreMetrics
import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// Commits what happened, many entries together, and then sends what must not be sent before: ``JournalState`` decides
/// behind a lock.
///
/// A thread that has nothing else to do commits what it brings, with all that waits; what comes meanwhile is left to
/// a thread of the agent. The commits of intake take along what waits, and the link's thread gathers what the commands
/// that it runs bring. So a command that comes alone needs no other thread, and under load a commit carries many.
///
/// With ``Durability/off`` nothing waits for a commit: what happened is sent, and goes into one a moment later.
final class Journal: Sendable {
    /// What the journal calls; connected by the agent.
    struct Connections: Sendable {
        /// Commands whose results are on disk, each with the bytes of its reply.
        var resultsCommitted: @Sendable ([(sequence: Int64, bytes: Int)]) -> Void
        /// A stored reply on that topic has so many bytes fewer.
        var replyReplaced: @Sendable (_ topic: String, _ fewer: Int) -> Void
        /// Whether the calling thread calls ``Journal/commitGathered()`` in a moment, so that what it brings can wait.
        var isGathering: @Sendable () -> Bool
    }

    private let store: Store
    private let outbox: Outbox
    private let failureTopic: String
    private let clock: AgentClock
    private let limits: AgentLimits
    /// Whether what happened is on disk before anything of it is published.
    private let isDurable: Bool
    private let handlerTimer: Timer
    let connections: Connections
    private let state: Guarded<JournalState>

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
        let (sizes, dropped) = try store.commit { (try $0.outboxSizes(), try $0.droppedReports()) }
        var quota = ReportQuota(
            records: limits.outboxRecords, bytes: limits.outboxBytes, share: limits.senderShare,
            dropped: dropped)
        for (sequence, bytes, sender) in sizes {
            quota.stored(sequence, bytes: bytes, of: sender)
        }
        state = Guarded(JournalState(limits: limits, isDurable: isDurable, quota: quota))
    }

    var counters: JournalState.Counters { state.withLock(\.counters) }

    /// Whether reports about commands of `sender` find no space.
    func isOutboxFull(for sender: String) -> Bool { state.withLock { $0.isOutboxFull(for: sender) } }

    // MARK: What happened

    /// Takes commands, which the next commit writes before anything else; at the latest ``commitReceived()`` does.
    ///
    /// - Returns: False when too many wait for that, or it was closed.
    func received(_ commands: [NewCommand]) -> Bool { state.withLock { $0.commandsReceived(commands) } }

    /// Commits a step of a command; false when the journal was closed before.
    func commit(_ step: InboxStep, of job: CommandJob) async -> Bool {
        guard isDurable else {
            return started(.step(step, sequence: job.sequence) { _ in }) != .giveUp
        }
        return await withCheckedContinuation { continuation in
            started(.step(step, sequence: job.sequence) { continuation.resume(returning: $0) })
        }
    }

    /// Returns when all that came before is on disk; false when the journal was closed before.
    func flush() async -> Bool {
        guard isDurable else { return true }
        return await withCheckedContinuation { continuation in
            started(.mark { continuation.resume(returning: $0) })
        }
    }

    @discardableResult
    private func started(_ entry: JournalState.Entry) -> JournalState.Next {
        let isGathering = connections.isGathering()
        let next = state.withLock { $0.handlerStarted(entry, isGathering: isGathering) }
        if next == .giveUp { entry.settle(false) }
        act(on: next)
        return next
    }

    /// Commits the ends of commands; their replies go out once they are on disk, or now with ``Durability/off``.
    ///
    /// - Parameter isFree: Whether the calling thread has nothing else to do, so that it may wait for the disk.
    func ended(_ commands: [EndedCommand], isFree: Bool = false) {
        let isGathering = connections.isGathering()
        let replies = commands.map(reply)
        let results = zip(commands, replies).map { command, reply in
            JournalState.Entry.ended(
                InboxResult(sequence: command.job.sequence, attempt: command.job.attempt, reply: reply.bytes),
                command.job.address)
        }
        let (next, unstored) = state.withLock {
            $0.resultsProduced(
                results, replies.lazy.map(\.status), isFree: isFree, isGathering: isGathering)
        }
        act(on: next)
        outbox.enqueue(unstored)
    }

    private func reply(to ended: EndedCommand) -> (bytes: [UInt8], status: Code.Status) {
        handlerTimer.recordMilliseconds(ended.milliseconds)
        let reply = ended.reply(at: clock.wall())
        let bytes = reply.encoded()
        guard let reason = reasonToReplace(bytes.count) else { return (bytes, reply.status) }
        let smaller = Reply.tooLarge(bytes.count, reason, inPlaceOf: reply)
        return (smaller.encoded(), smaller.status)
    }

    /// Why a reply of so many bytes is too large; nil when it is not.
    private func reasonToReplace(_ bytes: Int) -> String? {
        let largest = limits.packetBytes - AgentLimits.packetOverhead
        if bytes > largest { return "at most \(largest) can be sent" }
        guard bytes > Self.smallReply, store.disk.isTight(with: bytes + state.withLock(\.waitingReplyBytes))
        else {
            return nil
        }
        return "the store has no space for it"
    }

    /// A result of so many bytes is stored in any case.
    private static let smallReply = 4_096

    /// Commits a failure report, which goes out once it is on disk.
    func failed(_ report: FailureReport) {
        let isGathering = connections.isGathering()
        act(on: state.withLock { $0.failureOccurred(report, isGathering: isGathering) })
    }

    /// The broker has these messages.
    func acknowledged(_ items: [OutboxItem]) {
        let entries = items.compactMap { item -> JournalState.Entry? in
            switch item.origin {
            case .reply(let sequence):
                FaultPoint.beforeReplyAcknowledged.reached()
                return .replyAcknowledged(sequence: sequence)
            case .stored(let sequence): return .reportRemoved(sequence: sequence)
            case .volatile: return nil
            }
        }
        guard !entries.isEmpty else { return }
        let isGathering = connections.isGathering()
        act(on: state.withLock { $0.replyAcknowledged(entries, isGathering: isGathering) })
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
        changed(.replyReplaced(sequence: sequence, message, fewer: fewer))
        return true
    }

    /// A stored report was damaged and is set aside: it takes no space any more.
    func reportDamaged(_ sequence: Int64) { changed(.reportRemoved(sequence: sequence)) }

    private func changed(_ entry: JournalState.Entry) {
        let isGathering = connections.isGathering()
        act(on: state.withLock { $0.storedMessageChanged(entry, isGathering: isGathering) })
    }

    // MARK: Commits

    /// Returns when all commands are on disk that were received, or will be in a moment with ``Durability/off``.
    func commitReceived() throws(StoreError) {
        let count = state.withLock(\.receivedCount)
        guard count > 0 else { return }
        guard isDurable else { return act(on: state.withLock { $0.startTimer() }) }
        try commit(steps: count) { _ in }
        FaultPoint.afterStore.reached()
    }

    /// Commits what the calling thread has gathered.
    func commitGathered() {
        let (next, replies) = state.withLock { $0.gatheringEnded() }
        outbox.enqueue(replies)
        act(on: next)
    }

    /// Commits what was sent before its commit; false when nothing is.
    func commitSent() -> Bool { !isDurable && (try? commit { _ in }) != nil }

    /// Commits all that waits, acknowledgements too; on a full disk it goes on waiting.
    func commitAll() {
        state.withLock { $0.flush() }
        _ = try? commit { _ in }
    }

    /// Takes nothing more, after one more attempt to commit what waits.
    func close() {
        state.withLock { $0.close() }
        guard (try? commit { _ in }) == nil else { return }
        // Handlers that wait for it must not run.
        for entry in state.withLock({ $0.giveUp() }) { entry.settle(false) }
    }

    private func act(on next: JournalState.Next) {
        switch next {
        case .nothing, .giveUp: break
        case .commit:
            // What came meanwhile is left to a thread of the agent.
            if (try? commit { _ in }) == nil || state.withLock({ $0.committerEnded() }) {
                commitInBackground()
            }
        case .commitInBackground: commitInBackground()
        case .wait(let flushes):
            TimerThread.shared.call(after: JournalState.deferral) { [self] in
                act(on: state.withLock { $0.timePassed(since: flushes) })
            }
        }
    }

    /// Commits on a thread of the agent until nothing urgent waits; on a full disk it tries again until ``close()``.
    private func commitInBackground() {
        AgentThreads.start { [self] in
            repeat {
                while (try? commit { _ in }) == nil {
                    guard !state.withLock(\.isClosed) else { return }
                    await AgentThreads.sleep(for: DiskHealth.retryInterval)
                }
            } while state.withLock { $0.committerEnded() }
        }
    }

    /// Commits what was received and the first entries that wait, and `body` in the same transaction, and sends what
    /// waited for it.
    ///
    /// - Parameters:
    ///   - steps: how much else it writes; 0 when it is there for the entries.
    ///   - repeated: rows whose replies go out again, and wait for the broker again.
    ///   - body: called when the rest is written, and called again, without entries, when the transaction with them
    ///     failed.
    func commit<Value>(
        steps: Int = 0, repeated: [Int64] = [], _ body: (Store.Transaction) throws -> Value
    ) throws(StoreError) -> Value {
        var batch: JournalBatch?
        do throws(StoreError) {
            return try store.commit { transaction in
                var begun = state.withLock { $0.commitBegan(steps) }
                batch = begun
                try begun.write(
                    in: transaction, reportsTo: failureTopic, limits, isTight: store.disk.isTight(),
                    at: clock.wall())
                batch = begun
                let value = try body(transaction)
                try transaction.reopen(repeated)
                return value
            } then: { _ in
                // Here, because what is first on the disk must be first to be sent.
                if let batch { committed(batch, repeated) }
            } otherwise: {
                if let batch { act(on: state.withLock { $0.commitFailed(batch) }) }
            }
        } catch {
            guard let batch, batch.takesEntries, steps > 0 else { throw error }
            return try commit(steps: steps, repeated: repeated, body)
        }
    }

    /// Sends what waited for a commit, and calls who waited.
    private func committed(_ batch: JournalBatch, _ repeated: [Int64]) {
        act(on: state.withLock { $0.committed(batch, repeated: repeated) })
        var items: [OutboxItem] = []
        var ended: [(sequence: Int64, bytes: Int)] = []
        for entry in batch.entries {
            entry.settle(true)
            switch entry {
            case .ended(let result, _):
                FaultPoint.afterResult.reached()
                ended.append((result.sequence, result.reply.count))
                if isDurable, let reply = entry.reply { items.append(reply) }
            case .replyReplaced(_, let message, let fewer):
                connections.replyReplaced(message.topic, fewer)
                if let reply = entry.reply { items.append(reply) }
            case .step, .mark, .failed, .replyAcknowledged, .reportRemoved: break
            }
        }
        if !ended.isEmpty { connections.resultsCommitted(ended) }
        outbox.enqueue(items + batch.records.map(OutboxItem.init))
    }
}

extension Reply {
    /// What a sender gets instead of a reply that is too large to be stored or sent.
    static func tooLarge(_ bytes: Int, _ reason: String, inPlaceOf reply: Reply) -> Reply {
        Reply(
            id: reply.id, code: .tooLarge, milliseconds: reply.milliseconds, attempt: reply.attempt,
            at: reply.at,
            detail: "the command ended with \(reply.code), and its reply has \(bytes) bytes; \(reason)",
            trace: reply.trace)
    }
}

extension EndedCommand {
    /// The terminal reply.
    func reply(at now: Int64) -> Reply {
        Reply(
            id: job.id, code: result.code, result: result.value, milliseconds: milliseconds,
            attempt: job.attempt, at: now, detail: result.detail?.cut(to: Reporter.maximumDetail),
            nearest: result.nearest, payload: result.payload, warnings: job.header.warnings,
            trace: job.address.trace)
    }
}
