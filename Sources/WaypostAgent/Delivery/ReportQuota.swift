/// How much of the space for failure reports on disk is taken, and how many found none.
struct ReportQuota: Sendable {
    private let maximumRecords: Int
    private let maximumBytes: Int
    private var sizes: [Int64: Int] = [:]
    private var bytes = 0
    /// Reports that found no space since the last one that did.
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

    /// Reports that never got as far as the disk.
    mutating func lost(_ count: Int64) { dropped += count }

    mutating func stored(_ sequence: Int64, bytes size: Int) {
        bytes += size
        sizes[sequence] = size
    }

    mutating func removed(_ sequence: Int64) {
        bytes -= sizes.removeValue(forKey: sequence) ?? 0
    }

    /// The number of those that found no space, once there is space again to say so.
    mutating func takeDropped() -> Int64? {
        guard dropped > 0, !isFull else { return nil }
        defer { dropped = 0 }
        return dropped
    }
}
