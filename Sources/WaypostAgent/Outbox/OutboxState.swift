import DequeModule
import MQTTLink

/// Which message goes next and what becomes of those under way: decisions only, no broker and no disk.
struct OutboxState: Sendable {
    /// Messages at QoS 1 that may be under way at one time.
    private(set) var window: Int
    private(set) var isOnline = false
    private var queues: [Deque<(token: UInt64, item: OutboxItem)>] = OutboxItem.Class.allCases.map { _ in [] }
    private var underWay: [UInt64: OutboxItem] = [:]
    private var nextToken: UInt64 = 1
    private let configuredWindow: Int

    init(window: Int) {
        self.window = window
        configuredWindow = window
    }

    /// Messages that wait, over all classes, those under way included.
    var count: Int { queues.reduce(underWay.count) { $0 + $1.count } }
    var isEmpty: Bool { count == 0 }

    /// Log messages that wait for the broker.
    var waitingLogs: Int { queues[OutboxItem.Class.log.rawValue].count }

    mutating func enqueued(_ item: OutboxItem) {
        queues[item.kind.rawValue].append((nextToken, item))
        nextToken += 1
    }

    /// A retained message takes the place of one on the same topic that waits: only the newest state counts.
    mutating func replaced(_ item: OutboxItem) {
        let queue = item.kind.rawValue
        if let index = queues[queue].firstIndex(where: { $0.item.message.topic == item.message.topic }) {
            queues[queue][index].item = item
        } else {
            enqueued(item)
        }
    }

    mutating func connected(receiveMaximum: Int) {
        isOnline = true
        window = max(1, min(configuredWindow, receiveMaximum))
    }

    /// Whatever was under way comes back to its place, for the broker may not have it.
    mutating func disconnected() {
        isOnline = false
        for (token, item) in underWay.sorted(by: { $0.key > $1.key }) {
            putBack(item, token: token)
        }
        underWay = [:]
    }

    /// What may be handed to the link now.
    mutating func messagesToSend() -> [(token: UInt64, message: MQTTMessage)] {
        guard isOnline else { return [] }
        var sending: [(token: UInt64, message: MQTTMessage)] = []
        for queue in queues.indices {
            while underWay.count < window, let (token, item) = queues[queue].popFirst() {
                underWay[token] = item
                sending.append((token, item.message))
            }
        }
        return sending
    }

    /// The broker has it, or will never take it: either way it is settled.
    mutating func settled(_ token: UInt64) -> OutboxItem? {
        underWay.removeValue(forKey: token)
    }

    /// The connection went first: the message comes back to its place.
    mutating func lost(_ token: UInt64) {
        guard let item = underWay.removeValue(forKey: token) else { return }
        putBack(item, token: token)
    }

    private mutating func putBack(_ item: OutboxItem, token: UInt64) {
        let queue = item.kind.rawValue
        let place = queues[queue].firstIndex { $0.token > token } ?? queues[queue].endIndex
        queues[queue].insert((token, item), at: place)
    }
}
