import Waypost
import WaypostBackend
import WaypostMessages

/// A line of the log, with its number: it rises by one from line to line, as long as the console runs.
struct NumberedLine: Sendable {
    let number: Int64
    /// When it came, in milliseconds since 1970.
    let arrived: Int64
    let line: AgentEvent

    /// About how many bytes of memory it holds.
    fileprivate var weight: Int {
        let event = line.event
        let texts = [line.agent, event.tag, event.boot, event.message, line.code?.name ?? ""]
        return texts.reduce(400) { $0 + $1.utf8.count } + (event.url?.utf8.count ?? 0)
            + (event.ref?.utf8.count ?? 0) + (event.trace?.utf8.count ?? 0)
            + (line.reportID?.utf8.count ?? 0)
    }
}

/// The last lines of all agents.
///
/// A copy costs next to nothing, so that who looks for something takes one and looks at it outside the lock.
struct LineRing: Sendable {
    /// How many are kept for scrolling back; what is older is with the agents.
    static let capacity = 50_000
    /// The most bytes that they take; agents whose lines are long have fewer of them here.
    static let maximumBytes = 64 << 20
    /// Where a copy was taken, only so many lines are copied before the next.
    private static let chunkLines: Int64 = 256

    private let capacity: Int
    private let maximumBytes: Int
    /// All have ``chunkLines`` but the last; of the first one, those before ``first`` are no longer there.
    private var chunks: [[NumberedLine]] = []
    /// The number of the first line of the first chunk.
    private var base: Int64 = 1
    private var bytes = 0
    /// The number of the oldest line that is kept.
    private(set) var first: Int64 = 1
    /// The number that the next line gets.
    private(set) var next: Int64 = 1

    init(capacity: Int = LineRing.capacity, maximumBytes: Int = LineRing.maximumBytes) {
        self.capacity = max(1, capacity)
        self.maximumBytes = maximumBytes
    }

    var count: Int { Int(next - first) }

    mutating func append(_ line: AgentEvent, at now: Int64) {
        let numbered = NumberedLine(number: next, arrived: now, line: line.shortened)
        if (next - base) % Self.chunkLines == 0 { chunks.append([]) }
        chunks[chunks.count - 1].append(numbered)
        bytes += numbered.weight
        next += 1
        while count > capacity || bytes > maximumBytes, count > 1, let oldest = self[first] {
            bytes -= oldest.weight
            first += 1
        }
        if first - base >= Self.chunkLines {
            chunks.removeFirst()
            base += Self.chunkLines
        }
    }

    subscript(number: Int64) -> NumberedLine? {
        guard number >= first, number < next else { return nil }
        let place = number - base
        return chunks[Int(place / Self.chunkLines)][Int(place % Self.chunkLines)]
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
        let recent = lines(before: next).prefix { now.subtracting(clamping: $0.arrived) <= 5_000 }
        return Double(recent.reduce(0) { count, _ in count + 1 }) / 5
    }
}
