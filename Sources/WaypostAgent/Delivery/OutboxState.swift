import DequeModule
import MQTTLink

/// Which message goes next and what becomes of those in flight: decisions only, no broker and no disk.
///
/// Stored messages beyond ``AgentLimits/outboxMemoryBytes`` are left on disk and read when it is their turn; others
/// beyond ``AgentLimits/volatileBytes`` are dropped.
struct OutboxState: Sendable {
    /// How long a message waits that was refused for a reason that may pass, in milliseconds; it doubles with each
    /// refusal of the same message.
    private static let firstPause: Int64 = 1_000
    private static let longestPause: Int64 = 60_000

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

    private typealias Entry = OutboxLines.Entry

    /// What one line holds in memory, in bytes.
    private struct Held: Sendable {
        var stored = 0
        var volatile = 0
    }

    /// A retained document: only the newest one of a topic counts, and it goes last.
    private struct Document: Sendable {
        var version: UInt64
        var message: MQTTMessage
        var isWaiting = true
        /// The token under which a version of it is in flight; the next one waits for its end.
        var underWay: UInt64?
        /// How often it was refused for a reason that may pass, since the broker last took one.
        var refusals = 0
        /// When it is sent again, after that.
        var due: Int64?
    }

    /// Messages at QoS 1 that may be in flight at one time.
    private(set) var window: Int
    private(set) var isOnline = false
    private let configuredWindow: Int
    private let memoryBytes: Int
    private let volatileBytes: Int
    /// What the replies to one sender may take of these and of what is in flight, in per cent.
    private let share: Int

    private var documents: [Document] = []
    private var queues = OutboxItem.Kind.allCases.map { _ in OutboxLines() }
    private var underWay: [UInt64: Entry] = [:]
    private var traffic: OutboxTraffic
    /// Refused for a reason that may pass, each with the time at which it is sent again.
    private var retrying: [(entry: Entry, due: Int64)] = []
    /// When the next of these is due; nil for none.
    private(set) var retryDue: Int64?
    /// Refused for good, and stored: tried again on the next connection.
    private var parked: [Entry] = []
    /// Lines of which there is more on disk than in memory, in the order in which they are read.
    private var unread: Deque<OutboxItem.Line> = []
    /// The line that is being read from disk, and whether more of it was stored meanwhile.
    private var reading: (line: OutboxItem.Line, isStale: Bool)?
    /// How many deliveries of a reply that is sent again are in memory.
    private var repeats: [OutboxItem.Origin: Int] = [:]
    private var inMemory = Held()
    private var inMemoryOf: [OutboxItem.Line: Held] = [:]
    private var nextToken: UInt64 = 1

    /// - Parameters:
    ///   - window: messages in flight.
    ///   - bytes: bytes in flight; of a larger message, one alone.
    ///   - memoryBytes: stored messages in memory.
    ///   - volatileBytes: others in memory.
    ///   - share: what the replies to one sender may take of these bytes, in per cent.
    init(
        window: Int, bytes: Int = .max, memoryBytes: Int = .max, volatileBytes: Int = .max, share: Int = 100
    ) {
        self.window = window
        configuredWindow = window
        self.memoryBytes = memoryBytes
        self.volatileBytes = volatileBytes
        self.share = share
        traffic = OutboxTraffic(maximum: bytes, share: bytes.share(share))
    }

    /// Messages in memory that wait or are in flight.
    var count: Int {
        queues.reduce(underWay.count + retrying.count) { $0 + $1.count }
            + documents.count { $0.isWaiting || $0.underWay != nil }
    }

    /// Whether nothing waits that this connection can still deliver.
    var isEmpty: Bool { count == 0 && unread.isEmpty }

    /// Log messages that wait for the broker.
    var waitingLogs: Int { queues[OutboxItem.Kind.log.rawValue].count }

    /// Events in messages that the broker has not acknowledged.
    var events: Int {
        (Array(underWay.values) + retrying.map(\.entry)).reduce(
            queues[OutboxItem.Kind.log.rawValue].events
        ) { $0 + $1.item.events }
    }

    /// Stored messages that the broker refused.
    var refusedAndKept: Int { parked.count + retrying.count { $0.entry.item.isStored } }

    /// Gives up the space for more than there are now.
    mutating func releaseMemory() {
        defer { assert(isConsistent) }
        if underWay.isEmpty { underWay = [:] }
        for index in queues.indices { queues[index].releaseMemory() }
    }

    /// Whether what is counted goes with what waits and what is in flight.
    private var isConsistent: Bool {
        inMemory.stored >= 0 && inMemory.volatile >= 0 && (isOnline || underWay.isEmpty)
            && (retrying.isEmpty || retryDue != nil)
            && documents.allSatisfy { (isOnline || $0.underWay == nil) && ($0.due == nil || retryDue != nil) }
    }

    // MARK: Coming in

    /// Takes a message; false when it is dropped, because too much waits that is not stored.
    mutating func enqueued(_ item: OutboxItem) -> Bool {
        defer { assert(isConsistent) }
        let line = item.line
        let own = inMemoryOf[line] ?? Held()
        // On disk a repeated one could not be distinguished from the delivery that is in flight, whose end would be its end too.
        let fits =
            inMemory.volatile + item.bytes <= volatileBytes
            && own.volatile + item.bytes <= limit(volatileBytes, line)
        let item = item.isRepeat && !fits ? OutboxItem(item) : item
        if item.isRepeat {
        } else if item.isStored {
            let isTooMuch =
                inMemory.stored > 0 && inMemory.stored + item.bytes > memoryBytes
                || own.stored > 0 && own.stored + item.bytes > limit(memoryBytes, line)
            if isTooMuch || unread.contains(line) {
                storedEarlier(line)
                if reading?.line == line { reading?.isStale = true }
                return true
            }
        } else if !fits {
            return false
        }
        append(item)
        return true
    }

    /// What a line may take of a limit; only replies have several lines.
    private func limit(_ bytes: Int, _ line: OutboxItem.Line) -> Int {
        line.kind == .reply ? bytes.share(share) : bytes
    }

    private mutating func append(_ item: OutboxItem) {
        count(item, 1)
        queues[item.kind.rawValue].append(Entry(token: nextToken, item: item))
        nextToken += 1
    }

    private mutating func count(_ item: OutboxItem, _ sign: Int) {
        let place = inMemoryOf.index(forKey: item.line)
        var own = place.map { inMemoryOf.values[$0] } ?? Held()
        if item.isStored, !item.isRepeat {
            inMemory.stored += sign * item.bytes
            own.stored += sign * item.bytes
        } else {
            inMemory.volatile += sign * item.bytes
            own.volatile += sign * item.bytes
        }
        if own.stored <= 0, own.volatile <= 0 {
            if let place { inMemoryOf.remove(at: place) }
        } else if let place {
            inMemoryOf.values[place] = own
        } else {
            inMemoryOf[item.line] = own
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
        defer { assert(isConsistent) }
        guard let index = documents.firstIndex(where: { $0.message.topic == message.topic }) else {
            return documents.append(Document(version: version, message: message))
        }
        guard version > documents[index].version else { return }
        documents[index].version = version
        documents[index].message = message
        // One that the broker refuses has its pause, however often it is made again.
        documents[index].isWaiting = documents[index].due == nil
    }

    // MARK: The disk

    /// There may be messages of this line on disk that are not in memory.
    mutating func storedEarlier(_ line: OutboxItem.Line) {
        defer { assert(isConsistent) }
        if !unread.contains(line) { unread.append(line) }
    }

    /// The line to read from disk now, with the messages of it that are in memory already; one at a time.
    mutating func lineToRead() -> (line: OutboxItem.Line, known: Set<Int64>)? {
        defer { assert(isConsistent) }
        guard isOnline, reading == nil, inMemory.stored <= memoryBytes,
            let index = unread.firstIndex(where: { !queues[$0.kind.rawValue].has($0) && holdsLittle($0) })
        else { return nil }
        let line = unread.remove(at: index)
        // The others are read before its next part.
        unread.append(line)
        reading = (line, false)
        return (line, inMemory(line))
    }

    /// Whether the next messages of a line may be read although some of it are in memory still.
    ///
    /// If many are, those of other lines would find no space, and stay on disk until the broker acknowledges one. Parked
    /// messages do not count: they are acknowledged on the next connection at the earliest.
    private func holdsLittle(_ line: OutboxItem.Line) -> Bool {
        let little = limit(memoryBytes, line) / 4
        guard let held = inMemoryOf[line]?.stored, held > little else { return true }
        return held - parked.reduce(0) { $0 + ($1.item.line == line ? $1.item.bytes : 0) } <= little
    }

    /// The rows of a line that are not in its queue and yet in memory.
    private func inMemory(_ line: OutboxItem.Line) -> Set<Int64> {
        let items = (Array(underWay.values) + retrying.map(\.entry) + parked).map(\.item)
        return Set(items.lazy.filter { $0.line == line }.compactMap(\.sequence))
    }

    /// Messages were read from disk; `isAll` when there were no more.
    mutating func read(_ items: [OutboxItem], of line: OutboxItem.Line, isAll: Bool) {
        defer { assert(isConsistent) }
        let isStale = reading?.isStale ?? false
        reading = nil
        for item in items { append(item) }
        if isAll && !isStale { unread.removeAll { $0 == line } }
    }

    /// Reading failed; it is tried again with the next change.
    mutating func readFailed() {
        defer { assert(isConsistent) }
        reading = nil
    }

    // MARK: The connection

    mutating func connected(receiveMaximum: Int) {
        defer { assert(isConsistent) }
        isOnline = true
        window = max(1, min(configuredWindow, receiveMaximum))
        // Another broker, or other rules: what was refused gets another chance.
        for entry in parked { putBack(entry) }
        parked = []
        retry(at: .max)
    }

    /// Everything that was in flight goes back to its place, because the broker may not have it.
    mutating func disconnected() {
        defer { assert(isConsistent) }
        isOnline = false
        // The last first, so that of each line the first has the turn.
        for entry in underWay.values.sorted(by: { $0.token > $1.token }) {
            traffic.ended(entry.item)
            putBack(entry)
        }
        underWay = [:]
        for index in documents.indices where documents[index].underWay != nil {
            documents[index].underWay = nil
            documents[index].isWaiting = true
        }
    }

    /// What may be handed to the link now.
    mutating func messagesToSend() -> [OutgoingMessage] {
        defer { assert(isConsistent) }
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
        kinds: for queue in queues.indices {
            while free > 0 {
                switch queues[queue].next(beside: traffic) {
                case .entry(let entry):
                    traffic.sent(entry.item)
                    underWay[entry.token] = entry
                    sending.append(OutgoingMessage(token: entry.token, message: entry.item.message))
                    free -= 1
                case .waits: break kinds
                case .none: continue kinds
                }
            }
        }
        return sending
    }

    // MARK: The broker's answers

    /// Takes a receipt; nil when its message is not in flight, or goes back to its place.
    ///
    /// - Parameter now: a clock that only goes forward, in milliseconds.
    mutating func settled(_ receipt: PublishReceipt, at now: Int64) -> Settled? {
        defer { assert(isConsistent) }
        if let index = documents.firstIndex(where: { $0.underWay == receipt.token }) {
            return settled(document: index, receipt.result, at: now)
        }
        guard var entry = underWay.removeValue(forKey: receipt.token) else { return nil }
        let item = entry.item
        traffic.ended(item)
        switch receipt.result {
        case .acknowledged:
            count(item, -1)
            // Its row waits for the one that is sent again.
            return .delivered(repeats[item.origin] == nil ? item : OutboxItem(item, origin: .volatile))
        case .lost:
            putBack(entry)
            return nil
        case let result where result.mayPass:
            entry.refusals += 1
            retrying.append((entry, due(afterRefusals: entry.refusals, at: now)))
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

    /// Nothing smaller can stand for what was ``Settled/tooLarge(_:)``: it waits for the next connection.
    mutating func keep(_ item: OutboxItem) {
        defer { assert(isConsistent) }
        count(item, 1)
        parked.append(Entry(token: nextToken, item: item))
        nextToken += 1
    }

    private mutating func settled(
        document index: Int, _ result: PublishReceipt.Result, at now: Int64
    ) -> Settled? {
        documents[index].underWay = nil
        let item = OutboxItem(origin: .volatile, kind: .presence, message: documents[index].message)
        switch result {
        case .acknowledged:
            documents[index].refusals = 0
            return .delivered(item)
        case .lost:
            documents[index].isWaiting = true
            return nil
        case let result where result.mayPass:
            documents[index].refusals += 1
            documents[index].due = due(afterRefusals: documents[index].refusals, at: now)
            documents[index].isWaiting = false
            return .retried
        // It is published again with the next change and on the next connection.
        case .refused, .rejected: return .dropped(item)
        }
    }

    /// When what was refused so often is sent again: each message has a pause of its own, whatever else arrives.
    private mutating func due(afterRefusals refusals: Int, at now: Int64) -> Int64 {
        let due = now + min(Self.firstPause << min(refusals - 1, 16), Self.longestPause)
        retryDue = min(retryDue ?? due, due)
        return due
    }

    /// Sends again what was refused for a reason that may pass and whose pause is over by `now`.
    mutating func retry(at now: Int64) {
        defer { assert(isConsistent) }
        let waiting = retrying
        retrying = waiting.filter { $0.due > now }
        for (entry, due) in waiting where due <= now { putBack(entry) }
        for index in documents.indices {
            guard let due = documents[index].due, due <= now else { continue }
            documents[index].due = nil
            documents[index].isWaiting = true
        }
        retryDue = (retrying.map(\.due) + documents.compactMap(\.due)).min()
    }

    private mutating func putBack(_ entry: Entry) { queues[entry.item.kind.rawValue].putBack(entry) }
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

    /// The order in which classes go out, behind the retained documents.
    enum Kind: Int, Sendable, CaseIterable {
        case presence, reply, failure, log
    }

    /// Messages that keep their order: the replies to one sender, or all of another kind.
    struct Line: Sendable, Hashable {
        /// The line is looked for a dozen times on the way of one message, and a text is long to hash.
        private let hash: Int
        let kind: Kind
        /// That of the replies; empty for the other kinds.
        let topic: String

        fileprivate init(_ kind: Kind, topic: String = "") {
            (self.kind, self.topic) = (kind, topic)
            hash = topic.isEmpty ? kind.rawValue : topic.hashValue
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }

        /// The replies on a topic.
        static func replies(on topic: String) -> Line { Line(.reply, topic: topic) }
        /// The failure reports.
        static let failures = Line(.failure)
    }

    let origin: Origin
    let kind: Kind
    let message: MQTTMessage
    /// Events in the message, so that they are counted when it is dropped.
    let events: Int
    /// Whether it is a stored reply for a command that came again.
    let isRepeat: Bool
    let line: Line

    init(origin: Origin, kind: Kind, message: MQTTMessage, events: Int = 0, isRepeat: Bool = false) {
        self.origin = origin
        self.kind = kind
        self.message = message
        self.events = events
        self.isRepeat = isRepeat
        line = kind == .reply ? .replies(on: message.topic) : Line(kind)
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
