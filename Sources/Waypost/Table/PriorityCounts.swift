/// How many routes have each priority.
struct PriorityCounts {
    /// Most have priority 0, which is counted by itself.
    private var usual = 0
    private var others: [Int64: Int] = [:]

    /// Whether all routes have the same.
    var areOne: Bool { others.isEmpty || others.count == 1 && usual == 0 }

    mutating func add(_ priority: Int64) {
        if priority == 0 {
            usual += 1
        } else {
            others[priority, default: 0] += 1
        }
    }

    mutating func remove(_ priority: Int64) {
        if priority == 0 {
            usual -= 1
        } else {
            let left = (others[priority] ?? 1) - 1
            others[priority] = left > 0 ? left : nil
        }
    }
}
