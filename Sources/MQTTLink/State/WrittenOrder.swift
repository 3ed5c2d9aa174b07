/// Since when the broker can have what was published at least once, in the order of publishing.
///
/// A message counts from when all of it was written, so a slow connection is no broken one.
struct WrittenOrder: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Entry {
        var order: UInt64
        var written: Instant?
        var isDone = false
    }

    // From `start` on; in front of it all are done.
    private var entries: [Entry] = []
    private var start = 0
    /// How many of them were written.
    private var written = 0

    /// Whether some may wait to be written.
    var hasUnwritten: Bool { written < entries.count }
    /// When the oldest was written that is not acknowledged; nil for none, or before it was.
    var oldest: Instant? { start < entries.count ? entries[start].written : nil }

    /// Whether what is done was written, and what was written was published.
    private var isConsistent: Bool { 0...written ~= start && written <= entries.count }

    mutating func published(order: UInt64) {
        defer { assert(isConsistent) }
        entries.append(Entry(order: order))
    }

    /// All that was published was written, or what was published before `order` and with it.
    mutating func wrote(upTo order: UInt64 = .max, at now: Instant) {
        defer { assert(isConsistent) }
        while written < entries.count, entries[written].order <= order {
            entries[written].written = now
            written += 1
        }
    }

    /// A message has its answer, so it was written, and all before it.
    mutating func answered(order: UInt64, at now: Instant) {
        defer { assert(isConsistent) }
        wrote(upTo: order, at: now)
        guard let index = index(of: order) else { return }
        entries[index].isDone = true
        while start < entries.count, entries[start].isDone { start += 1 }
        guard start > 64, start * 2 > entries.count else { return }
        entries.removeFirst(start)
        (start, written) = (0, written - start)
    }

    private func index(of order: UInt64) -> Int? {
        var (low, high) = (start, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].order < order { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].order == order ? low : nil
    }
}
