/// How much of the space for failure reports on disk is taken, by whom, and how many found none.
struct ReportQuota: Sendable {
    private struct Use: Sendable {
        var records = 0
        var bytes = 0
    }

    private let maximum: Use
    /// What the reports that one sender caused may take.
    private let share: Use
    private var reports: [Int64: (bytes: Int, sender: String?)] = [:]
    private var taken = Use()
    private var takenBy: [String: Use] = [:]
    /// Reports that found no space since the last one that did: by the sender whose share was full, or of all.
    private var droppedOf: [String?: Int64] { didSet { isChanged = true } }
    /// Whether they are others than on disk.
    private var isChanged = false

    /// - Parameters:
    ///   - share: of one sender, in per cent.
    ///   - dropped: what ``takeChange()`` returned in an earlier run.
    init(records: Int, bytes: Int, share: Int = 100, dropped: [String?: Int64] = [:]) {
        droppedOf = dropped
        maximum = Use(records: records, bytes: bytes)
        self.share = Use(records: records.share(share), bytes: bytes.share(share))
    }

    var isFull: Bool { taken.records >= maximum.records || taken.bytes >= maximum.bytes }

    /// Reports that found no space and are still to be reported.
    var dropped: Int64 { droppedOf.values.reduce(0, +) }

    /// Senders that have used up their share.
    var fullSenders: Set<String> { Set(takenBy.keys.filter(isShareFull)) }

    private func isShareFull(_ sender: String) -> Bool {
        guard let use = takenBy[sender] else { return false }
        return use.records >= share.records || use.bytes >= share.bytes
    }

    /// Whether what is taken is what the reports take.
    private var isConsistent: Bool {
        taken.records == reports.count && taken.bytes >= 0 && takenBy.count <= reports.count
    }

    /// Whether a report may be stored; one that may not is counted.
    mutating func admits(of sender: String? = nil) -> Bool {
        defer { assert(isConsistent) }
        if isFull {
            droppedOf[nil, default: 0] += 1
        } else if let sender, isShareFull(sender) {
            droppedOf[sender, default: 0] += 1
        } else {
            return true
        }
        return false
    }

    /// Reports that never got as far as the disk.
    mutating func lost(_ count: Int64) {
        defer { assert(isConsistent) }
        if count > 0 { droppedOf[nil, default: 0] += count }
    }

    mutating func stored(_ sequence: Int64, bytes: Int, of sender: String? = nil) {
        defer { assert(isConsistent) }
        taken.records += 1
        taken.bytes += bytes
        reports[sequence] = (bytes, sender)
        guard let sender else { return }
        takenBy[sender, default: Use()].records += 1
        takenBy[sender, default: Use()].bytes += bytes
    }

    mutating func removed(_ sequence: Int64) {
        defer { assert(isConsistent) }
        guard let (bytes, sender) = reports.removeValue(forKey: sequence) else { return }
        taken.records -= 1
        taken.bytes -= bytes
        guard let sender else { return }
        takenBy[sender]?.records -= 1
        takenBy[sender]?.bytes -= bytes
        if takenBy[sender]?.records == 0 { takenBy[sender] = nil }
    }

    /// The counts of those that found no space, by sender, when they have changed: they belong on disk.
    mutating func takeChange() -> [String?: Int64]? {
        defer { assert(isConsistent) }
        defer { isChanged = false }
        return isChanged ? droppedOf : nil
    }

    /// One of the counts of those that found no space, once there is space again to say so.
    mutating func takeDropped() -> (sender: String?, count: Int64)? {
        defer { assert(isConsistent) }
        guard !isFull,
            let next = droppedOf.first(where: { entry in entry.key.map { !isShareFull($0) } ?? true })
        else { return nil }
        droppedOf[next.key] = nil
        return (next.key, next.value)
    }
}
