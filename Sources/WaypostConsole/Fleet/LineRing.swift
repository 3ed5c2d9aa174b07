import WaypostBackend

/// A line of the log, with its number: it rises by one from line to line, as long as the console runs.
struct NumberedLine: Sendable {
    let number: Int64
    /// When it came, in milliseconds since 1970.
    let arrived: Int64
    let line: LogLine
}

/// The last lines of all agents.
struct LineRing: Sendable {
    /// How many are kept for scrolling back; what is older is with the agents.
    static let capacity = 50_000

    private let capacity: Int
    private var slots: [NumberedLine] = []
    /// The number that the next line gets.
    private(set) var next: Int64 = 1

    init(capacity: Int = LineRing.capacity) { self.capacity = max(1, capacity) }

    var count: Int { slots.count }
    /// The number of the oldest line that is kept.
    var first: Int64 { next - Int64(slots.count) }

    mutating func append(_ line: LogLine, at now: Int64) {
        var line = line
        // What it came as is not shown.
        line.source = []
        let numbered = NumberedLine(number: next, arrived: now, line: line)
        if slots.count < capacity {
            slots.append(numbered)
        } else {
            slots[index(of: next)] = numbered
        }
        next += 1
    }

    private func index(of number: Int64) -> Int { Int((number - 1) % Int64(capacity)) }

    subscript(number: Int64) -> NumberedLine? {
        number >= first && number < next ? slots[index(of: number)] : nil
    }

    /// The lines from that number on, in order, as far as they are kept.
    func lines(from number: Int64) -> some Sequence<NumberedLine> {
        (min(max(number, first), next)..<next).lazy.compactMap { self[$0] }
    }

    /// The lines before that number, the newest first.
    func lines(before number: Int64) -> some Sequence<NumberedLine> {
        let end = min(max(number, first), next)
        return (first..<end).reversed().lazy.compactMap { self[$0] }
    }

    /// How many lines came a second, over the last 5 s.
    func perSecond(at now: Int64) -> Double {
        let recent = lines(before: next).prefix { now &- $0.arrived <= 5_000 }
        return Double(recent.reduce(0) { count, _ in count + 1 }) / 5
    }
}
