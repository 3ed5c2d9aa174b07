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

    /// Which lines of the past are wanted.
    enum Place: Sendable {
        /// The newest.
        case end
        /// Those before this number.
        case before(Int64)
        /// Those behind it.
        case after(Int64)
        /// Those around this time, in milliseconds since 1970.
        case around(Int64)
    }

    /// Lines of the past that the query shows, the oldest first.
    func json(of ring: LineRing, _ place: Place, limit: Int, now: Int64) -> JSONValue {
        let shown = { (line: NumberedLine) in shows(line.line, now: now) }
        var older: [NumberedLine] = []
        var newer: [NumberedLine] = []
        var hasMore = false
        func take(before number: Int64, _ limit: Int) {
            // One more, to know whether there are some.
            older = Array(ring.lines(before: number).lazy.filter(shown).prefix(limit + 1))
            hasMore = older.count > limit
            older = older.prefix(limit).reversed()
        }
        switch place {
        case .end: take(before: ring.next, limit)
        case .before(let number): take(before: number, limit)
        case .after(let number):
            newer = Array(
                ring.lines(from: number == .max ? .max : number + 1).lazy.filter(shown).prefix(
                    limit))
            hasMore = true
        case .around(let time):
            let number =
                ring.lines(from: ring.first).first { $0.line.event.time >= time }?.number ?? ring.next
            take(before: number, limit / 2)
            newer = Array(ring.lines(from: number).lazy.filter(shown).prefix(limit - older.count))
        }
        return [
            "lines": .array((older + newer).map(\.json)), "more": .bool(hasMore), "first": .int(ring.first),
        ]
    }

    /// Lines that an agent gave when it was asked, as far as they are older than what is kept here, the oldest first.
    ///
    /// Their numbers lie before all others.
    func json(ofReplayed lines: [LogLine], _ state: FleetState, now: Int64) -> JSONValue {
        let kept = state.lines.lines(from: state.lines.first).map(\.line).filter { $0.agent == agent }
        let known = Set(kept.map(\.event.place))
        let oldest = kept.first?.event.time ?? .max
        let older = lines.filter { !known.contains($0.event.place) }
            .map { $0.corrected(by: state.roster.clockError(of: $0.agent, now: now), now: now) }
            .filter { $0.event.time <= oldest }
        return [
            "lines": .array(
                zip(-Int64(older.count)..<0, older).map { number, line in
                    NumberedLine(number: number, arrived: now, line: line).json
                })
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
        // One that is far behind gets the newest.
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

extension LogEvent {
    /// By which an event differs from all others of its agent.
    fileprivate var place: [String] { [boot, String(sequence)] }
}
