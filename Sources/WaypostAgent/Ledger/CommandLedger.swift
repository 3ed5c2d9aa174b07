import Threading
import Waypost
import WaypostMessages

/// The one place that says of a command's id whether it is new: ``LedgerState`` decides behind a lock, of what is in
/// memory and of what it is told of the store.
///
/// Of what comes through the broker only the link's thread asks it. So between the answer and the storing nothing else
/// takes an id, and what is in neither place then never came.
final class CommandLedger: Sendable {
    private let store: Store
    private let topics: Topics
    private let clock: AgentClock
    private let state: Guarded<LedgerState>
    private let exclusive = ExclusiveThread()
    /// When the first id of a sender is forgotten whose share is used up, and when that was read.
    private let firstEnds = Guarded<[String: (end: Int64, read: Int64)]>([:])
    /// The last row that an earlier run has left.
    let lastStoredEarlier: Int64

    init(_ limits: AgentLimits, store: Store, topics: Topics, clock: AgentClock) throws(StoreError) {
        self.store = store
        self.topics = topics
        self.clock = clock
        let (uses, unfinished, last) = try store.commit {
            (try $0.inboxUse(), try $0.unfinishedSizes(), try $0.lastSequence())
        }
        var state = LedgerState(shares: SenderShares(limits), lastSequence: last)
        for use in uses { state.storedEarlier(use, of: topics.sender(ofCommandOn: use.topic) ?? "") }
        for command in unfinished {
            state.unfinishedEarlier(
                command.sequence, command.bytes, isScheduled: command.isScheduled,
                of: topics.sender(ofCommandOn: command.topic) ?? "")
        }
        self.state = Guarded(state)
        lastStoredEarlier = last
    }

    /// What each sender holds.
    var shares: SenderShares { state.withLock(\.shares) }

    /// Says of each command what its id is; a new one has its row, and its space, from then on.
    ///
    /// - Parameter whenInFlight: called when some have come before and have no result on disk; true when one may be there
    ///   now.
    func look(
        up commands: ArraySlice<ReceivedCommand>, whenInFlight: () -> Bool
    ) throws(StoreError) -> [LedgerState.Finding] {
        assert(exclusive.enter())
        defer { assert(exclusive.leave()) }
        var found = state.withLock { state in commands.map { state.inFlight($0) } }
        if found.contains(where: { $0 != nil }), whenInFlight() {
            found = state.withLock { state in commands.map { state.inFlight($0) } }
        }
        let unknown = found.count { $0 == nil }
        // A command that ends meanwhile was found in flight; what is not in flight can't get there meanwhile.
        let stored =
            unknown == 0
            ? []
            : try store.read(unknown) { transaction in
                try zip(commands, found).map { command, finding in
                    finding == nil ? try transaction.known(command.topic, command.id) : nil
                }
            }
        let refusal = store.disk.refusal
        return state.withLock { state in
            zip(commands, found).enumerated().map { index, pair in
                pair.1 ?? state.commandReceived(pair.0, stored: stored[index], refusal: refusal)
            }
        }
    }

    /// Says of a command what its id is, as ``look(up:whenInFlight:)`` does: of one that comes past the broker, on any
    /// thread, whose topic the link never brings.
    ///
    /// Its id is taken before the store is asked: who had it until then has the result on disk.
    ///
    /// - Parameter stored: reads what the store has under its id.
    func take<Fault: Error>(
        _ command: ReceivedCommand, stored: () throws(Fault) -> KnownCommand?
    ) throws(Fault) -> LedgerState.Finding {
        let refusal = store.disk.refusal
        let taken = state.withLock { $0.commandReceived(command, stored: nil, refusal: refusal) }
        if case .duplicate = taken { return taken }
        var isKept = false
        defer { if case .new(let sequence) = taken, !isKept { notCommitted([sequence]) } }
        guard let known = try stored() else {
            isKept = true
            return taken
        }
        return LedgerState.finding(command, beside: known)
    }

    /// New commands could not be stored: they are as if they had not come.
    func notCommitted(_ sequences: [Int64]) { state.withLock { $0.notCommitted(sequences) } }

    /// The results of commands are on disk; the bytes are those of the replies.
    func resultsCommitted(_ results: [(sequence: Int64, bytes: Int)]) {
        state.withLock { $0.resultsCommitted(results) }
    }

    /// The stored reply on a topic got smaller.
    func replyShrank(on topic: String, by bytes: Int) {
        guard case .reply(let sender)? = topics.outbound(topic)?.content else { return }
        state.withLock { $0.shares.shrank(by: bytes, of: sender) }
    }

    /// Ids were forgotten on disk.
    func forgot(_ uses: [InboxUsage]) {
        let uses = uses.map { ($0, topics.sender(ofCommandOn: $0.topic) ?? "") }
        state.withLock { state in for (use, sender) in uses { state.shares.forgot(use, of: sender) } }
    }

    /// Gives up the space for more than there are now.
    func releaseMemory() { state.withLock { $0.releaseMemory() } }

    // MARK: Refusals

    /// The refusal of a new command that finds no space.
    func failure(_ refusal: SenderShares.Refusal, _ sender: String, sentTo audiences: [Audience]) -> Failure {
        let text = shares.text(refusal, sender)
        guard case .idsOfSender = refusal, let end = firstEnd(of: sender, audiences) else {
            return Failure(.busy, text)
        }
        return Failure(.busy, "\(text); the first one becomes free at \(Timestamp.rfc3339(end))")
    }

    /// When the first id of a sender is forgotten; read from disk every few seconds at most.
    private func firstEnd(of sender: String, _ audiences: [Audience]) -> Int64? {
        let now = clock.monotonic()
        if let known = firstEnds.withLock({ $0[sender] }), now - known.read < Self.endInterval {
            return known.end
        }
        let topics = audiences.map { self.topics.command(to: $0, from: sender) }
        let end = try? store.read(1) { try $0.firstEnd(of: topics) }
        firstEnds.withLock { ends in
            if ends.count >= Self.endsKept { ends = [:] }
            ends[sender] = end.map { ($0, now) }
        }
        return end
    }

    /// In milliseconds.
    private static let endInterval: Int64 = 10_000
    private static let endsKept = 16
}
