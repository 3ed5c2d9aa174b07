/// How much of the room for reports on disk is taken, and how many found none.
struct OutboxQuota: Sendable {
    private let maximumRecords: Int
    private let maximumBytes: Int
    private var sizes: [Int64: Int] = [:]
    private var bytes = 0
    /// Reports that found no room since the last one that did.
    private(set) var dropped: Int64 = 0

    init(records: Int, bytes: Int) {
        maximumRecords = records
        maximumBytes = bytes
    }

    var isFull: Bool { sizes.count >= maximumRecords || bytes >= maximumBytes }

    /// Whether a report may be stored; one that may not is counted.
    mutating func admits() -> Bool {
        if isFull { dropped += 1 }
        return !isFull
    }

    mutating func stored(_ record: OutboxRecord) {
        bytes += record.payload.count
        sizes[record.sequence] = record.payload.count
    }

    mutating func removed(_ sequence: Int64) {
        bytes -= sizes.removeValue(forKey: sequence) ?? 0
    }

    /// The number of those that found no room, once there is room again to say so.
    mutating func takeDropped() -> Int64? {
        guard dropped > 0, !isFull else { return nil }
        defer { dropped = 0 }
        return dropped
    }
}
