import DequeModule
import MQTTLink

/// Which message goes next and what becomes of those under way: decisions only, no broker and no disk.
///
/// Stored messages beyond ``AgentLimits/outboxMemoryBytes`` are left on disk and read when it is their turn; others
/// beyond ``AgentLimits/volatileBytes`` are dropped.
struct OutboxState: Sendable {
    /// What became of a message that the broker answered, or that could not be sent.
    enum Settled: Sendable {
        /// The broker has it.
        case delivered(OutboxItem)
        /// It is stored and too large for the broker: something smaller must take its place.
        case tooLarge(OutboxItem)
        /// It is stored and was refused: it is tried again on the next connection.
        case kept(OutboxItem)
        /// It was refused and is gone.
        case dropped(OutboxItem)
        /// It was refused for a reason that may pass: it is tried again after a while.
        case retried
    }

    private struct Entry: Sendable {
        var token: UInt64
        var item: OutboxItem
    }

    /// A retained document: only the newest one of a topic counts, and it goes last.
    private struct Document: Sendable {
        var version: UInt64
        var message: MQTTMessage
        var isWaiting = true
        /// The token under which a version of it is under way; the next one waits for its end.
        var underWay: UInt64?
        /// It was refused for a reason that may pass.
        var isRetrying = false
    }

    /// Messages at QoS 1 that may be under way at one time.
    private(set) var window: Int
    private(set) var isOnline = false
    private let configuredWindow: Int
    private let memoryBytes: Int
    private let volatileBytes: Int

    private var documents: [Document] = []
    private var queues: [Deque<Entry>] = OutboxItem.Kind.allCases.map { _ in [] }
    private var underWay: [UInt64: OutboxItem] = [:]
    /// Refused for a reason that may pass.
    private var retrying: [Entry] = []
    /// Refused for good, and stored: tried again on the next connection.
    private var parked: [Entry] = []
    /// Kinds of which there is more on disk than in memory.
    private var unread: Set<OutboxItem.Kind> = []
    /// Kinds that are being read from disk; the value says whether more was stored meanwhile.
    private var reading: [OutboxItem.Kind: Bool] = [:]
    /// How many deliveries of a reply that is sent again are in memory.
    private var repeats: [OutboxItem.Origin: Int] = [:]
    private var storedInMemory = 0
    private var volatileInMemory = 0
    private var nextToken: UInt64 = 1

    init(window: Int, memoryBytes: Int = .max, volatileBytes: Int = .max) {
        self.window = window
        configuredWindow = window
        self.memoryBytes = memoryBytes
        self.volatileBytes = volatileBytes
    }

    /// Messages in memory that wait or are under way.
    var count: Int {
        queues.reduce(underWay.count + retrying.count) { $0 + $1.count }
            + documents.count { $0.isWaiting || $0.underWay != nil }
    }

    /// Whether nothing waits that this connection can still deliver.
    var isEmpty: Bool { count == 0 && unread.isEmpty }

    /// Log messages that wait for the broker.
    var waitingLogs: Int { queues[OutboxItem.Kind.log.rawValue].count }

    /// Stored messages that the broker refused.
    var refusedAndKept: Int { parked.count + retrying.count { $0.item.isStored } }

    /// Gives up the space for more than there are now.
    mutating func releaseMemory() {
        if underWay.isEmpty { underWay = [:] }
        for index in queues.indices where queues[index].isEmpty { queues[index] = [] }
    }

    // MARK: Coming in

    /// Takes a message; false when it is dropped, because too much waits that is not stored.
    mutating func enqueued(_ item: OutboxItem) -> Bool {
        // On disk a repeated one could not be told from the delivery that is under way, whose end would be its end too.
        let fits = volatileInMemory + item.bytes <= volatileBytes
        let item = item.isRepeat && !fits ? OutboxItem(item) : item
        if item.isRepeat {
        } else if item.isStored {
            if unread.contains(item.kind) || storedInMemory > 0 && storedInMemory + item.bytes > memoryBytes {
                unread.insert(item.kind)
                if reading[item.kind] != nil { reading[item.kind] = true }
                return true
            }
        } else if !fits {
            return false
        }
        append(item)
        return true
    }

    private mutating func append(_ item: OutboxItem) {
        count(item, 1)
        queues[item.kind.rawValue].append(Entry(token: nextToken, item: item))
        nextToken += 1
    }

    private mutating func count(_ item: OutboxItem, _ sign: Int) {
        if item.isStored, !item.isRepeat {
            storedInMemory += sign * item.bytes
        } else {
            volatileInMemory += sign * item.bytes
        }
        if item.isRepeat {
            let number = repeats[item.origin, default: 0] + sign
            repeats[item.origin] = number == 0 ? nil : number
        }
    }

    /// Takes a retained document, unless a newer version of it came before.
    ///
    /// - Parameter version: from a counter that was read before the document was made.
    mutating func published(_ message: MQTTMessage, version: UInt64) {
        guard let index = documents.firstIndex(where: { $0.message.topic == message.topic }) else {
            return documents.append(Document(version: version, message: message))
        }
        guard version > documents[index].version else { return }
        documents[index].version = version
        documents[index].message = message
        documents[index].isWaiting = true
    }

    // MARK: The disk

    /// There may be messages of this kind on disk that are not in memory.
    mutating func storedEarlier(_ kind: OutboxItem.Kind) { unread.insert(kind) }

    /// The kinds to read from disk now, each with the messages that are in memory already.
    mutating func kindsToRead() -> [(kind: OutboxItem.Kind, known: Set<Int64>)] {
        guard isOnline else { return [] }
        return unread.filter { queues[$0.rawValue].isEmpty && reading[$0] == nil }.map { kind in
            reading[kind] = false
            return (kind, inMemory(kind))
        }
    }

    /// The rows of a kind that are not in its queue and yet in memory.
    private func inMemory(_ kind: OutboxItem.Kind) -> Set<Int64> {
        let items = Array(underWay.values) + (retrying + parked).map(\.item)
        return Set(items.lazy.filter { $0.kind == kind }.compactMap(\.sequence))
    }

    /// Messages were read from disk; `isAll` when there were no more.
    mutating func read(_ items: [OutboxItem], of kind: OutboxItem.Kind, isAll: Bool) {
        let storedMeanwhile = reading.removeValue(forKey: kind) ?? false
        for item in items { append(item) }
        if isAll && !storedMeanwhile { unread.remove(kind) }
    }

    /// Reading failed; it is tried again with the next change.
    mutating func readFailed(_ kind: OutboxItem.Kind) { reading[kind] = nil }

    // MARK: The connection

    mutating func connected(receiveMaximum: Int) {
        isOnline = true
        window = max(1, min(configuredWindow, receiveMaximum))
        // Another broker, or other rules: what was refused gets another chance.
        for entry in parked { putBack(entry) }
        parked = []
        retry()
    }

    /// Everything that was under way goes back to its place, because the broker may not have it.
    mutating func disconnected() {
        isOnline = false
        for (token, item) in underWay { putBack(Entry(token: token, item: item)) }
        underWay = [:]
        for index in documents.indices where documents[index].underWay != nil {
            documents[index].underWay = nil
            documents[index].isWaiting = true
        }
    }

    /// What may be handed to the link now.
    mutating func messagesToSend() -> [OutgoingMessage] {
        guard isOnline else { return [] }
        var sending: [OutgoingMessage] = []
        var free = window - underWay.count - documents.count { $0.underWay != nil }
        for index in documents.indices
        where free > 0 && documents[index].isWaiting && documents[index].underWay == nil {
            documents[index].isWaiting = false
            documents[index].underWay = nextToken
            sending.append(OutgoingMessage(token: nextToken, message: documents[index].message))
            nextToken += 1
            free -= 1
        }
        for queue in queues.indices {
            while free > 0, let entry = queues[queue].popFirst() {
                underWay[entry.token] = entry.item
                sending.append(OutgoingMessage(token: entry.token, message: entry.item.message))
                free -= 1
            }
        }
        return sending
    }

    // MARK: The broker's answers

    /// Takes a receipt; nil when its message is not under way, or goes back to its place.
    mutating func settled(_ receipt: PublishReceipt) -> Settled? {
        if let index = documents.firstIndex(where: { $0.underWay == receipt.token }) {
            return settled(document: index, receipt.result)
        }
        guard let item = underWay.removeValue(forKey: receipt.token) else { return nil }
        let entry = Entry(token: receipt.token, item: item)
        switch receipt.result {
        case .acknowledged:
            count(item, -1)
            // Its row waits for the one that is sent again.
            return .delivered(repeats[item.origin] == nil ? item : OutboxItem(item, origin: .volatile))
        case .lost:
            putBack(entry)
            return nil
        case let result where result.mayPass:
            retrying.append(entry)
            return .retried
        case .rejected(.tooLarge) where item.isStored && item.kind == .reply:
            count(item, -1)
            return .tooLarge(item)
        case .refused, .rejected:
            if item.isStored {
                parked.append(entry)
                return .kept(item)
            }
            count(item, -1)
            return .dropped(item)
        }
    }

    private mutating func settled(document index: Int, _ result: PublishReceipt.Result) -> Settled? {
        documents[index].underWay = nil
        let item = OutboxItem(origin: .volatile, kind: .presence, message: documents[index].message)
        switch result {
        case .acknowledged: return .delivered(item)
        case .lost:
            documents[index].isWaiting = true
            return nil
        case let result where result.mayPass:
            documents[index].isRetrying = true
            return .retried
        // It is published again with the next change and on the next connection.
        case .refused, .rejected: return .dropped(item)
        }
    }

    /// What was refused for a reason that may pass is sent again.
    mutating func retry() {
        for entry in retrying { putBack(entry) }
        retrying = []
        for index in documents.indices where documents[index].isRetrying {
            documents[index].isRetrying = false
            documents[index].isWaiting = true
        }
    }

    private mutating func putBack(_ entry: Entry) {
        let queue = entry.item.kind.rawValue
        let place = queues[queue].firstIndex { $0.token > entry.token } ?? queues[queue].endIndex
        queues[queue].insert(entry, at: place)
    }
}

extension PublishReceipt.Result {
    /// Whether the same message may be taken later.
    fileprivate var mayPass: Bool {
        switch self {
        case .refused(let code): code.isTransient
        case .rejected(.overflow): true
        case .acknowledged, .lost, .rejected: false
        }
    }
}

/// A message on its way to the broker; a class for the reason of ``CommandJob``.
final class OutboxItem: Sendable {
    /// What the broker's acknowledgement settles.
    enum Origin: Sendable, Hashable {
        /// The terminal reply of the stored command.
        case reply(sequence: Int64)
        /// A row of the outbox table.
        case stored(sequence: Int64)
        /// Nothing on disk: events, interim replies, rejections of what was not stored.
        case volatile
    }

    /// The order in which classes go out, behind the retained documents; within one, the order of arrival is kept.
    enum Kind: Int, Sendable, CaseIterable {
        case presence, reply, failure, log
    }

    let origin: Origin
    let kind: Kind
    let message: MQTTMessage
    /// Events in the message, so that they are counted when it is dropped.
    let events: Int
    /// Whether it is a stored reply for a command that came again.
    let isRepeat: Bool

    init(origin: Origin, kind: Kind, message: MQTTMessage, events: Int = 0, isRepeat: Bool = false) {
        self.origin = origin
        self.kind = kind
        self.message = message
        self.events = events
        self.isRepeat = isRepeat
    }

    /// Its row on disk; nil when it can't be read again.
    var sequence: Int64? {
        switch origin {
        case .reply(let sequence), .stored(let sequence): sequence
        case .volatile: nil
        }
    }

    var isStored: Bool { sequence != nil }

    /// About what it takes in memory and on the wire.
    var bytes: Int {
        message.payload.count + message.topic.utf8.count + (message.properties.correlationData?.count ?? 0)
            + 128
    }
}

extension OutboxItem {
    /// The same message, perhaps of another origin, and not as one that is sent again.
    convenience init(_ item: OutboxItem, origin: Origin? = nil) {
        self.init(
            origin: origin ?? item.origin, kind: item.kind, message: item.message, events: item.events)
    }

    /// A failure report that waits on disk.
    convenience init(_ record: OutboxRecord) {
        self.init(
            origin: .stored(sequence: record.sequence), kind: .failure,
            message: ReplyAddress(topic: record.topic).message(record.payload))
    }
}
