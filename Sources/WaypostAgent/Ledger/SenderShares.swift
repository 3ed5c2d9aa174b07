/// How much of the inbox each sender holds: a sender may hold a share of it, so that none keeps the others out.
///
/// Nothing is evicted: a sender that has used up its share waits until some of what it holds ends.
struct SenderShares: Sendable {
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
        /// Those among them that came before their time.
        var scheduled = 0

        fileprivate mutating func add(_ other: Use, times sign: Int) {
            ids += sign * other.ids
            bytes += sign * other.bytes
            waiting += sign * other.waiting
            waitingBytes += sign * other.waitingBytes
            scheduled += sign * other.scheduled
        }
    }

    /// Which limit a new command would exceed.
    enum Refusal: Sendable {
        case ids, idsOfSender, waitingBytes, waitingOfSender, waitingBytesOfSender, bytesOfSender, scheduled,
            scheduledOfSender
    }

    /// Bytes that a row may take beside its payload or its reply: topic, id, correlation data, digests, times, index.
    static let rowOverhead = 1_024

    let limit: Use
    /// What one sender may hold.
    private let share: Use
    private let percent: Int
    /// All senders together.
    private(set) var total = Use()
    private var senders: [String: Use] = [:]

    init(_ limits: AgentLimits) {
        limit = Use(
            ids: limits.dedupeKeys, bytes: limits.storeBytes, waiting: limits.waitingCommands,
            waitingBytes: limits.waitingBytes, scheduled: limits.scheduledCommands)
        percent = limits.senderShare
        share = Use(
            ids: limit.ids.share(percent), bytes: limit.bytes.share(percent),
            waiting: limit.waiting.share(percent), waitingBytes: limit.waitingBytes.share(percent),
            scheduled: limit.scheduled.share(percent))
    }

    // MARK: What happens

    /// Ids of an earlier run; those without a result among them follow one by one.
    mutating func storedEarlier(_ use: InboxUsage, of sender: String) { add(Self.use(of: use), to: sender) }

    /// A command of an earlier run has no result.
    mutating func unfinishedEarlier(_ bytes: Int, isScheduled: Bool = false, of sender: String) {
        add(Use(waiting: 1, waitingBytes: bytes, scheduled: isScheduled ? 1 : 0), to: sender)
    }

    /// Takes space for a command that is going to be stored; why there is none otherwise.
    mutating func reserve(_ bytes: Int, isScheduled: Bool = false, for sender: String) -> Refusal? {
        if let refusal = refusal(bytes, isScheduled, senders[sender] ?? Use()) { return refusal }
        add(Self.use(of: bytes, isScheduled), to: sender)
        return nil
    }

    private func refusal(_ bytes: Int, _ isScheduled: Bool, _ mine: Use) -> Refusal? {
        if isScheduled, total.scheduled >= limit.scheduled { return .scheduled }
        if isScheduled, mine.scheduled >= share.scheduled { return .scheduledOfSender }
        if total.ids >= limit.ids { return .ids }
        if mine.ids >= share.ids { return .idsOfSender }
        if mine.waiting >= share.waiting { return .waitingOfSender }
        // One that is larger than the share is taken when nothing else waits.
        if total.waiting > 0, total.waitingBytes + bytes > limit.waitingBytes { return .waitingBytes }
        if mine.waiting > 0, mine.waitingBytes + bytes > share.waitingBytes { return .waitingBytesOfSender }
        if mine.ids > 0, mine.bytes + Self.use(of: bytes).bytes > share.bytes { return .bytesOfSender }
        return nil
    }

    /// A command for which space was taken was not stored.
    mutating func release(_ bytes: Int, isScheduled: Bool = false, of sender: String) {
        add(Self.use(of: bytes, isScheduled), to: sender, times: -1)
    }

    /// The result of a command is on disk: its reply has taken the place of its payload.
    mutating func ended(_ payload: Int, isScheduled: Bool = false, reply: Int, of sender: String) {
        add(
            Use(
                bytes: reply - payload, waiting: -1, waitingBytes: -payload,
                scheduled: isScheduled ? -1 : 0), to: sender)
    }

    /// A stored reply got smaller.
    mutating func shrank(by bytes: Int, of sender: String) { add(Use(bytes: -bytes), to: sender) }

    /// Ids were forgotten.
    mutating func forgot(_ use: InboxUsage, of sender: String) {
        add(Self.use(of: use), to: sender, times: -1)
    }

    private mutating func add(_ use: Use, to sender: String, times sign: Int = 1) {
        defer { assert(total.waiting >= 0 && total.waitingBytes >= 0 && total.scheduled >= 0) }
        total.add(use, times: sign)
        guard let place = senders.index(forKey: sender) else {
            return senders[sender, default: Use()].add(use, times: sign)
        }
        senders.values[place].add(use, times: sign)
        if senders.values[place] == Use() { senders.remove(at: place) }
    }

    private static func use(of bytes: Int, _ isScheduled: Bool = false) -> Use {
        Use(
            ids: 1, bytes: bytes + rowOverhead, waiting: 1, waitingBytes: bytes,
            scheduled: isScheduled ? 1 : 0)
    }

    private static func use(of rows: InboxUsage) -> Use {
        Use(ids: rows.rows, bytes: rows.bytes + rows.rows * rowOverhead)
    }

    // MARK: What is said about it

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
        case .scheduled: "\(limit.scheduled) commands that came before their time have not ended yet"
        case .scheduledOfSender: used(share.scheduled, "commands that come before their time")
        }
    }

    /// The senders that soon get 429 while others go on, by name; nil when there are none.
    var nearLimit: String? {
        let near = senders.filter {
            $0.value.ids >= share.ids.share(80) || $0.value.bytes >= share.bytes.share(80)
        }
        guard !near.isEmpty else { return nil }
        let names = near.keys.sorted().prefix(3).joined(separator: ", ")
        let more = near.count > 3 ? " and \(near.count - 3) more" : ""
        return "ok (free space, but \(names)\(more) used most of a share; beyond it: 429 BUSY)"
    }

    /// What is wrong when most of the ids are taken; nil when they are not.
    var problem: String? {
        guard total.ids >= limit.ids.share(80) else { return nil }
        let most = senders.max { $0.value.ids < $1.value.ids }
        let of = most.map { "; \($0.value.ids) are those of \($0.key)" } ?? ""
        return "\(total.ids) of \(limit.ids) ids are used\(of); when all are, new commands get 429 BUSY"
    }
}
