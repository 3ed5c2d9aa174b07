/// How many routes have each priority.
struct PriorityCounts {
    /// Most have priority 0, which is counted by itself.
    private var usual = 0
    private var others: [Int64: Int] = [:]

    /// Whether all routes have the same.
    var areOne: Bool { others.isEmpty || others.count == 1 && usual == 0 }

    /// Counts so many routes more.
    mutating func count(_ priority: Int64, by change: Int) {
        if priority == 0 {
            usual += change
        } else {
            let count = (others[priority] ?? 0) + change
            others[priority] = count > 0 ? count : nil
        }
    }
}
