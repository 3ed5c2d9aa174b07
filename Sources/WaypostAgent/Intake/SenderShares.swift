import Threading
import Waypost
import WaypostMessages

/// How much of the inbox each sender holds: a sender may hold a share of it, so that none keeps the others out.
///
/// Nothing is evicted: a sender that has used up its share waits until some of what it holds ends.
final class SenderShares: Sendable {
    /// What one sender holds, or all of them together.
    struct Use: Sendable, Equatable {
        /// Rows in the table of known ids.
        var ids = 0
        /// About what they take on disk.
        var bytes = 0
        /// Those among them that have no result yet.
        var waiting = 0
        /// The bytes of their payloads.
        var waitingBytes = 0

        fileprivate mutating func add(_ other: Use, times sign: Int = 1) {
            ids += sign * other.ids
            bytes += sign * other.bytes
            waiting += sign * other.waiting
            waitingBytes += sign * other.waitingBytes
        }
    }

    /// Which limit a new command would exceed.
    enum Refusal: Sendable {
        case ids, idsOfSender, waitingBytes, waitingOfSender, waitingBytesOfSender, bytesOfSender
    }

    private struct State {
        var total = Use()
        var senders: [String: Use] = [:]
        /// Commands without a result.
        var open: [Int64: (sender: String, bytes: Int)] = [:]

        mutating func add(_ use: Use, to sender: String, times sign: Int = 1) {
            total.add(use, times: sign)
            guard let place = senders.index(forKey: sender) else {
                return senders[sender, default: Use()].add(use, times: sign)
            }
            senders.values[place].add(use, times: sign)
            if senders.values[place] == Use() { senders.remove(at: place) }
        }
    }

    /// Bytes that a row may take beside its payload or its reply: topic, id, correlation data, digests, times, index.
    static let rowOverhead = 1_024

    let limit: Use
    /// What one sender may hold.
    private let share: Use
    private let percent: Int
    private let state: Guarded<State>

    /// - Parameter sender: who sent a command on that topic.
    init(
        _ limits: AgentLimits, in store: Store, sender: (_ topic: String) -> String?
    ) throws(StoreError) {
        limit = Use(
            ids: limits.dedupeKeys, bytes: limits.storeBytes, waiting: limits.waitingCommands,
            waitingBytes: limits.waitingBytes)
        percent = limits.senderShare
        share = Use(
            ids: limit.ids.share(percent), bytes: limit.bytes.share(percent),
            waiting: limit.waiting.share(percent), waitingBytes: limit.waitingBytes.share(percent))
        var state = State()
        let (uses, open) = try store.commit { (try $0.inboxUse(), try $0.unfinishedSizes()) }
        for use in uses {
            state.add(
                Use(ids: use.rows, bytes: use.bytes + use.rows * Self.rowOverhead),
                to: sender(use.topic) ?? "")
        }
        for (sequence, topic, bytes) in open {
            let sender = sender(topic) ?? ""
            state.open[sequence] = (sender, bytes)
            state.add(Use(waiting: 1, waitingBytes: bytes), to: sender)
        }
        self.state = Guarded(state)
    }

    // MARK: What happens

    /// Takes space for a command that is going to be stored; why there is none otherwise.
    func reserve(_ bytes: Int, for sender: String) -> Refusal? {
        state.withLock { state in
            let mine = state.senders[sender] ?? Use()
            if let refusal = refusal(bytes, mine, state.total) { return refusal }
            state.add(Self.use(of: bytes), to: sender)
            return nil
        }
    }

    private func refusal(_ bytes: Int, _ mine: Use, _ total: Use) -> Refusal? {
        if total.ids >= limit.ids { return .ids }
        if mine.ids >= share.ids { return .idsOfSender }
        if mine.waiting >= share.waiting { return .waitingOfSender }
        // One that is larger than the share is taken when nothing else waits.
        if total.waiting > 0, total.waitingBytes + bytes > limit.waitingBytes { return .waitingBytes }
        if mine.waiting > 0, mine.waitingBytes + bytes > share.waitingBytes { return .waitingBytesOfSender }
        if mine.ids > 0, mine.bytes + bytes > share.bytes { return .bytesOfSender }
        return nil
    }

    /// A command for which space was taken was not stored.
    func release(_ bytes: Int, of sender: String) {
        state.withLock { $0.add(Self.use(of: bytes), to: sender, times: -1) }
    }

    /// Commands for which space was taken are stored.
    func stored(_ commands: [(sequence: Int64, sender: String, bytes: Int)]) {
        guard !commands.isEmpty else { return }
        state.withLock { state in
            for command in commands { state.open[command.sequence] = (command.sender, command.bytes) }
        }
    }

    /// The results of commands are on disk; the bytes are those of the replies.
    func ended(_ commands: [(sequence: Int64, bytes: Int)]) {
        guard !commands.isEmpty else { return }
        state.withLock { state in
            for (sequence, bytes) in commands {
                guard let (sender, payload) = state.open.removeValue(forKey: sequence) else { continue }
                state.add(
                    Use(bytes: bytes - payload, waiting: -1, waitingBytes: -payload), to: sender)
            }
        }
    }

    /// A stored reply got smaller.
    func shrank(by bytes: Int, of sender: String) {
        state.withLock { $0.add(Use(bytes: -bytes), to: sender) }
    }

    /// Ids were forgotten.
    func forgot(_ use: InboxUsage, of sender: String) {
        state.withLock {
            $0.add(
                Use(ids: use.rows, bytes: use.bytes + use.rows * Self.rowOverhead), to: sender, times: -1)
        }
    }

    /// Gives up the space for more than there are now.
    func releaseMemory() {
        state.withLock { if $0.open.isEmpty { $0.open = [:] } }
    }

    private static func use(of bytes: Int) -> Use {
        Use(ids: 1, bytes: bytes + rowOverhead, waiting: 1, waitingBytes: bytes)
    }

    // MARK: What is said about it

    /// All senders together.
    var total: Use { state.withLock(\.total) }

    func text(_ refusal: Refusal, _ sender: String) -> String {
        func used(_ number: Int, _ what: String) -> String {
            "\(sender) has used its share of \(number) \(what) (\(percent) %)"
        }
        return switch refusal {
        case .ids: "all \(limit.ids) remembered ids are taken; try again when some have expired"
        case .idsOfSender: used(self.share.ids, "remembered ids")
        case .waitingOfSender: used(self.share.waiting, "waiting commands")
        case .waitingBytes: "the \(limit.waitingBytes) bytes for waiting commands are used"
        case .waitingBytesOfSender: used(self.share.waitingBytes, "bytes for waiting commands")
        case .bytesOfSender: used(self.share.bytes, "bytes of the store")
        }
    }

    /// The senders that soon get 429 while others go on, by name; nil when there are none.
    var nearLimit: String? {
        state.withLock { state in
            let senders = state.senders.filter {
                $0.value.ids >= share.ids.share(80) || $0.value.bytes >= share.bytes.share(80)
            }
            guard !senders.isEmpty else { return nil }
            let names = senders.keys.sorted().prefix(3).joined(separator: ", ")
            let more = senders.count > 3 ? " and \(senders.count - 3) more" : ""
            return "ok (free space, but \(names)\(more) used most of a share; beyond it: 429 BUSY)"
        }
    }

    /// What is wrong when most of the ids are taken; nil when they are not.
    var problem: String? {
        state.withLock { state in
            guard state.total.ids >= limit.ids.share(80) else { return nil }
            let most = state.senders.max { $0.value.ids < $1.value.ids }
            let of = most.map { "; \($0.value.ids) are those of \($0.key)" } ?? ""
            return
                "\(state.total.ids) of \(limit.ids) ids are used\(of); when all are, new commands get 429 BUSY"
        }
    }
}
