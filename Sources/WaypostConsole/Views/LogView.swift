import Waypost
import WaypostBackend
import WaypostMessages

/// The lines of the log that a query shows.
struct LogView: Sendable {
    static let maximumLines = 500

    let query: LogQuery
    /// Only this agent's; nil for all.
    let agent: String?

    /// - Throws: ``ViewError`` naming the term of the query that can't be read.
    init(_ text: String?, agent: String? = nil) throws(ViewError) {
        do {
            query = try LogQuery(text ?? "")
        } catch {
            throw .invalid(error.detail)
        }
        self.agent = agent
    }

    func shows(_ line: LogLine, now: Int64) -> Bool {
        (agent.map { $0 == line.agent } ?? true) && query.holds(for: line, now: now)
    }

    /// The lines before a number, for scrolling back.
    func json(of ring: LineRing, before: Int64?, limit: Int, now: Int64) -> JSONValue {
        var found: [NumberedLine] = []
        var hasMore = false
        for numbered in ring.lines(before: before ?? ring.next) where shows(numbered.line, now: now) {
            guard found.count < limit else {
                hasMore = true
                break
            }
            found.append(numbered)
        }
        return [
            "lines": .array(found.reversed().map(\.json)), "more": .bool(hasMore), "first": .int(ring.first),
        ]
    }

    /// What a tab gets next, and where it goes on.
    struct Frame: Sendable {
        var lines: [NumberedLine] = []
        /// Lines that it does not get: they went by while it did not read.
        var dropped: Int64 = 0
        /// The first line that was not looked at.
        var next: Int64
    }

    /// The next lines from a number on.
    ///
    /// - Parameter backlog: The most lines that a tab is behind; older ones are dropped.
    func frame(of ring: LineRing, from start: Int64, limit: Int, backlog: Int, now: Int64) -> Frame {
        var frame = Frame(next: max(start, ring.first))
        frame.dropped = frame.next - start
        // Whoever is far behind gets the newest.
        let behind = ring.next - frame.next
        if behind > Int64(backlog) {
            let target = ring.next - Int64(backlog)
            let skipped = ring.lines(from: frame.next).prefix(Int(behind) - backlog)
            frame.dropped += Int64(skipped.count { shows($0.line, now: now) })
            frame.next = target
        }
        for numbered in ring.lines(from: frame.next) {
            guard frame.lines.count < limit else { return frame }
            frame.next = numbered.number + 1
            if shows(numbered.line, now: now) { frame.lines.append(numbered) }
        }
        return frame
    }
}

extension NumberedLine {
    var json: JSONValue {
        let event = line.event
        return [
            "n": .int(number), "t": .int(event.time), "level": .string(event.letter),
            "tag": .string(event.tag),
            "agent": .string(line.agent), "message": .string(event.message), "url": .init(event.url),
            "ref": .init(event.ref), "code": .init(line.code.map { Int64($0.number) }),
            "name": .init(line.code?.name), "failure": .bool(line.isReport || event.isError),
        ]
    }
}
