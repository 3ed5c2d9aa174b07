/// Messages that libmosquitto has and the broker has not acknowledged, by packet id.
struct InFlight: Sendable {
    /// Who waits for the receipt.
    enum Origin: Sendable, Equatable {
        case caller(token: UInt64)
        case goodbye
    }

    private struct Entry {
        var order: UInt64
        var origin: Origin
        var qos: QoS
    }

    private var entries: [UInt16: Entry] = [:]
    private var order: UInt64 = 0
    private(set) var unacknowledged = 0
    /// At most once, and not yet written to the socket.
    private(set) var unwritten = 0
    private(set) var goodbyes = 0
    private var written = WrittenOrder()

    var isEmpty: Bool { entries.isEmpty }

    /// Whether an acknowledgement of that id must be expected.
    func awaits(_ id: UInt16) -> Bool { entries[id]?.qos == .atLeastOnce }

    /// Whether all are counted.
    private var isConsistent: Bool {
        unacknowledged + unwritten == entries.count && 0...entries.count ~= goodbyes
    }

    mutating func sent(_ id: UInt16, _ origin: Origin, _ qos: QoS) {
        defer { assert(isConsistent) }
        order += 1
        entries[id] = Entry(order: order, origin: origin, qos: qos)
        if qos != .atMostOnce { written.published(order: order) }
        count(origin, qos, by: 1)
    }

    /// The message with that id is done; `nil` for an unknown id.
    mutating func settled(_ id: UInt16, at now: ContinuousClock.Instant) -> Origin? {
        defer { assert(isConsistent) }
        guard let entry = entries.removeValue(forKey: id) else { return nil }
        if entry.qos != .atMostOnce { written.answered(order: entry.order, at: now) }
        count(entry.origin, entry.qos, by: -1)
        return entry.origin
    }

    /// Whether some may wait to be written.
    var hasUnwritten: Bool { written.hasUnwritten }

    /// All of them were written to the socket.
    mutating func wroteAll(at now: ContinuousClock.Instant) { written.wrote(at: now) }

    /// Since when the oldest waits for its acknowledgement; nil for none, or while it may wait to be written.
    var unansweredSince: ContinuousClock.Instant? { written.oldest }

    /// Gives up the space for more than there are now.
    mutating func releaseMemory() {
        defer { assert(isConsistent) }
        if entries.isEmpty { (entries, written) = ([:], WrittenOrder()) }
    }

    /// Forgets all, oldest first.
    mutating func lostAll() -> [Origin] {
        defer { assert(isConsistent) }
        let origins = entries.values.sorted { $0.order < $1.order }.map(\.origin)
        self = InFlight()
        return origins
    }

    private mutating func count(_ origin: Origin, _ qos: QoS, by step: Int) {
        if qos == .atMostOnce { unwritten += step } else { unacknowledged += step }
        if origin == .goodbye { goodbyes += step }
    }
}
