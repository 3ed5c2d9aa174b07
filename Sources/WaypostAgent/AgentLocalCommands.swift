import MQTTLink
import Synchronization
import Threading
import Waypost
import WaypostMessages

/// Commands from programs of the agent's own machine, which come past the broker: a URL that was clicked, a kiosk's page.
///
/// They run as those of the sender `local`, in their lanes, with interceptors, hooks, deadlines and failure reports like
/// all others; their replies go to who asked. Nothing of them is stored, since no reply is owed to a broker. But where
/// the command has an id and what it runs is not idempotent, its start is on disk before it runs and its result before
/// the answer: under its id it runs once.
final class LocalCommands: Sendable {
    typealias Answer = @Sendable (Reply) -> Void

    /// What they need of others; connected by the agent.
    struct Connections: Sendable {
        /// Stores something together with what else waits to be stored.
        var commit:
            @Sendable (_ body: @Sendable (Store.Transaction) throws -> Void) throws(StoreError) -> Void
        /// What is stored under an id.
        var known: @Sendable (_ topic: String, _ id: String) throws(StoreError) -> KnownCommand?
    }

    /// One that has no result yet.
    private struct Entry: Sendable {
        var id: String
        var answer: Answer
        /// What is stored of it once it must not run twice; nil for one without an id.
        var command: NewCommand?
        var isStored = false
    }

    private struct State {
        var entries: [Int64: Entry] = [:]
        /// Those without an id that others recognise have rows below all of the store.
        var lastUnstored: Int64 = 0
        var isStopped = false
    }

    private let ledger: CommandLedger
    private let clock: AgentClock
    private let connections: Connections
    private let state = Guarded(State())

    init(ledger: CommandLedger, clock: AgentClock, connections: Connections) {
        self.ledger = ledger
        self.clock = clock
        self.connections = connections
    }

    /// Takes a command; its job, or nil when it is answered by now.
    ///
    /// - Parameters:
    ///   - isNamed: Whether it has an id by which it is recognised.
    ///   - answer: Called once, with how it ended.
    func take(
        _ command: ReceivedCommand, isNamed: Bool, limits: AgentLimits, _ answer: @escaping Answer
    ) -> CommandJob? {
        let now = clock.wall()
        do throws(Failure) {
            let sequence: Int64?
            if isNamed {
                sequence = try row(of: command, answer)
            } else {
                sequence = state.withLock { state in
                    state.lastUnstored -= 1
                    return state.lastUnstored
                }
            }
            guard let sequence else { return nil }
            let new = NewCommand(
                sequence: sequence, topic: command.topic, id: command.id, digest: command.digest.bytes,
                payload: command.payload, received: now, expires: command.expires,
                keepUntil: max(
                    now + Intake.minimumRecognition, command.expires + Command.recognitionAfterExpiry))
            let isStopped = state.withLock { state in
                guard !state.isStopped else { return true }
                state.entries[sequence] = Entry(
                    id: command.id, answer: answer, command: isNamed ? new : nil)
                return false
            }
            guard !isStopped else {
                if isNamed { ledger.notCommitted([sequence]) }
                throw Self.stopping
            }
            return command.job(sequence, attempts: limits.attempts, at: now, clock.monotonic())
        } catch {
            answer(Reply(id: command.id, code: error.code, at: now, detail: error.detail))
            return nil
        }
    }

    private static let stopping = Failure(.interrupted, "the agent stops before the command could run")

    /// The row of a command that has an id; nil when it came before and is answered.
    private func row(of command: ReceivedCommand, _ answer: Answer) throws(Failure) -> Int64? {
        let finding: LedgerState.Finding
        do throws(StoreError) {
            finding = try ledger.take(command) { () throws(StoreError) in
                try connections.known(command.topic, command.id)
            }
        } catch {
            throw Failure(.disk, "\(error)")
        }
        switch finding {
        case .new(let sequence): return sequence
        case .duplicate(_, let bytes?):
            guard var reply = try? Reply(JSONValue(parsing: bytes, limits: .trustedFile)) else {
                throw Failure(.interrupted, "the stored reply of \(command.id) can't be read")
            }
            reply.isDuplicate = true
            answer(reply)
            return nil
        case .duplicate(_, nil):
            throw Failure(.busy, "command \(command.id) came before and has no result yet; ask again")
        case .noSpace(let refusal):
            throw Failure(.busy, ledger.shares.text(refusal, CommandJob.localSender))
        case .conflict, .damaged, .rejected:
            throw finding.refusal(command.id)
                ?? Failure(.interrupted, "command \(command.id) is not run again")
        }
    }

    /// Stores a step of a command where that is needed.
    ///
    /// - Throws: ``Failure`` when it can't be stored: its handler must not run, and it ends with that.
    func commit(_ step: InboxStep, _ sequence: Int64) async throws(Failure) {
        let begun = await withCheckedContinuation { continuation in
            AgentThreads.start {
                continuation.resume(
                    returning: Result { () throws(Failure) in try self.begins(step, sequence) })
            }
        }
        try begun.get()
    }

    /// A handler is about to run.
    private func begins(_ step: InboxStep, _ sequence: Int64) throws(Failure) {
        guard case .started = step,
            let command = state.withLock({ $0.entries[sequence]?.command })
        else { return }
        let now = clock.wall()
        do throws(StoreError) {
            try connections.commit { transaction in
                try transaction.receive([command], results: [:])
                try transaction.step(sequence, step, at: now)
            }
        } catch {
            throw Failure(.disk, "its start can't be stored: \(error)")
        }
        state.withLock { $0.entries[sequence]?.isStored = true }
    }

    /// Commands have ended, some of them perhaps of the run before.
    func ended(_ commands: [EndedCommand]) {
        for ended in commands {
            let (sequence, reply) = (ended.job.sequence, ended.reply(at: clock.wall()))
            guard state.withLock({ $0.entries[sequence]?.isStored }) ?? (sequence > 0) else {
                if sequence > 0 { ledger.notCommitted([sequence]) }
                answer(sequence, reply)
                continue
            }
            let result = InboxResult(
                sequence: sequence, attempt: ended.job.attempt, reply: reply.encoded())
            if !finished(result, reply) { finishLater(result, reply) }
        }
    }

    /// Stores a result, and answers with it; false when the disk does not take it.
    private func finished(_ result: InboxResult, _ reply: Reply) -> Bool {
        let isStored =
            (try? connections.commit { transaction in
                try transaction.finish(result)
                // No broker is owed it.
                try transaction.acknowledge([result.sequence], at: clock.wall())
            }) != nil
        guard isStored else { return false }
        ledger.resultsCommitted([(result.sequence, result.reply.count)])
        answer(result.sequence, reply)
        return true
    }

    /// Who asked waits until the disk takes the result; where the agent stops before, it is interrupted, also for the next
    /// start.
    private func finishLater(_ result: InboxResult, _ reply: Reply) {
        AgentThreads.start { [self] in
            repeat {
                await AgentThreads.sleep(for: DiskHealth.retryInterval)
                guard !state.withLock(\.isStopped) else { return }
            } while !finished(result, reply)
        }
    }

    private func answer(_ sequence: Int64, _ reply: Reply) {
        state.withLock { $0.entries.removeValue(forKey: sequence) }?.answer(reply)
    }

    /// The agent stops: who still waits is told so.
    func stopped() {
        let left = state.withLock { state in
            state.isStopped = true
            defer { state.entries = [:] }
            return state.entries
        }
        for (sequence, entry) in left {
            if entry.command != nil, !entry.isStored { ledger.notCommitted([sequence]) }
            let failure =
                entry.isStored ? Failure(.interrupted, "the agent stopped while it ran") : Self.stopping
            entry.answer(Reply(id: entry.id, code: failure.code, at: clock.wall(), detail: failure.detail))
        }
    }
}
