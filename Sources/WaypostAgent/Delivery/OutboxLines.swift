import DequeModule

/// Messages of one kind that wait: each line keeps its order, and the lines take turns.
struct OutboxLines: Sendable {
    /// A message and its place in the order of all that came.
    struct Entry: Sendable {
        var token: UInt64
        var item: OutboxItem
        /// How often the broker refused it for a reason that may pass.
        var refusals = 0
    }

    /// What may go next.
    enum Next: Sendable {
        case entry(Entry)
        /// Nothing, before some of what is in flight has arrived.
        case waits
        case none
    }

    private var lines: [OutboxItem.Line: Deque<Entry>] = [:]
    /// The lines that have something, the one whose turn it is first.
    private var turns: Deque<OutboxItem.Line> = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Events in all messages.
    var events: Int { lines.values.joined().reduce(0) { $0 + $1.item.events } }

    func has(_ line: OutboxItem.Line) -> Bool { lines[line] != nil }

    /// Gives up the space for more than there are now.
    mutating func releaseMemory() {
        if isEmpty { self = OutboxLines() }
    }

    /// Whether each line that has something has its turn.
    private var isConsistent: Bool { turns.count == lines.count && count >= lines.count }

    mutating func append(_ entry: Entry) {
        defer { assert(isConsistent) }
        let line = entry.item.line
        if lines[line]?.append(entry) == nil {
            lines[line] = [entry]
            turns.append(line)
        }
        count += 1
    }

    /// Puts an entry back to its place, and its line in front of the others: its turn was for nothing.
    mutating func putBack(_ entry: Entry) {
        defer { assert(isConsistent) }
        let line = entry.item.line
        if lines[line] == nil { turns.prepend(line) }
        var entries = lines.removeValue(forKey: line) ?? []
        entries.insert(entry, at: entries.firstIndex { $0.token > entry.token } ?? entries.endIndex)
        lines[line] = entries
        count += 1
    }

    /// Takes the next message that may go beside what is in flight.
    mutating func next(beside traffic: OutboxTraffic) -> Next {
        defer { assert(isConsistent) }
        for index in turns.indices {
            let line = turns[index]
            guard let place = lines.index(forKey: line), let first = lines.values[place].first else {
                continue
            }
            switch traffic.admission(of: first.item) {
            // Nothing passes it, or it would wait for ever beside smaller ones.
            case .later: return .waits
            case .behindItsOwn: continue
            case .now:
                turns.remove(at: index)
                lines.values[place].removeFirst()
                if lines.values[place].isEmpty { lines.remove(at: place) } else { turns.append(line) }
                count -= 1
                return .entry(first)
            }
        }
        return .none
    }
}
