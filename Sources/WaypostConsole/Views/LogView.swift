import Threading
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
        guard (text?.utf8.count ?? 0) <= LogQuery.maximumBytes else {
            throw .invalid("a query has at most \(LogQuery.maximumBytes) bytes")
        }
        do {
            query = try LogQuery(text ?? "")
        } catch {
            throw .invalid(error.detail)
        }
        self.agent = agent
    }

    func shows(_ line: AgentEvent, now: Int64) -> Bool {
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
    ///
    /// - Throws: ``ViewError`` when that takes too long, `CancellationError` when no tab waits for it.
    func json(of ring: LineRing, _ place: Place, limit: Int, now: Int64) async throws -> JSONValue {
        var patience = Patience()
        func find(_ lines: some Sequence<NumberedLine>, _ limit: Int) async throws -> [NumberedLine] {
            var found: [NumberedLine] = []
            for line in lines {
                guard found.count < limit else { break }
                try await patience.look()
                if shows(line.line, now: now) { found.append(line) }
            }
            return found
        }
        var older: [NumberedLine] = []
        var newer: [NumberedLine] = []
        var hasMore = false
        func take(before number: Int64, _ limit: Int) async throws {
            // One more, to know whether there are some.
            older = try await find(ring.lines(before: number), limit + 1)
            hasMore = older.count > limit
            older = older.prefix(limit).reversed()
        }
        switch place {
        case .end: try await take(before: ring.next, limit)
        case .before(let number): try await take(before: number, limit)
        case .after(let number):
            newer = try await find(ring.lines(from: number.adding(clamping: 1)), limit)
            hasMore = true
        case .around(let time):
            let number =
                ring.lines(from: ring.first).first { $0.line.event.time >= time }?.number ?? ring.next
            try await take(before: number, limit / 2)
            newer = try await find(ring.lines(from: number), limit - older.count)
        }
        return [
            "lines": .array((older + newer).map(\.json)), "more": .bool(hasMore), "first": .int(ring.first),
        ]
    }

    /// Lines that an agent gave when it was asked, as far as they are older than what is kept here, the oldest first.
    ///
    /// Their numbers lie before all others.
    func json(ofReplayed lines: [AgentEvent], _ state: FleetState, now: Int64) -> JSONValue {
        let kept = state.lines.lines(from: state.lines.first).map(\.line).filter { $0.agent == agent }
        let known = Set(kept.map(\.event.place))
        let oldest = kept.first?.event.time ?? .max
        let older = lines.filter { !known.contains($0.event.place) }
            .map { $0.corrected(by: state.clockError(of: $0.agent, now: now), now: now) }
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
    /// - Parameters:
    ///   - backlog: The most lines that a tab is behind; older ones are dropped.
    ///   - time: How long may be looked; what is left comes next time.
    func frame(
        of ring: LineRing, from start: Int64, limit: Int, backlog: Int, within time: Duration, now: Int64
    ) -> Frame {
        let end = MonotonicTime.instant + time
        var frame = Frame(next: max(start, ring.first))
        frame.dropped = frame.next.subtracting(clamping: start)
        // One that is far behind gets the newest.
        let target = ring.next.subtracting(clamping: Int64(backlog))
        if frame.next < target {
            for numbered in ring.lines(from: frame.next).prefix(Int(target - frame.next)) {
                // Those that can't be looked at in time may have been of interest.
                guard MonotonicTime.instant >= end || shows(numbered.line, now: now) else { continue }
                frame.dropped.add(clamping: 1)
            }
            frame.next = target
        }
        for numbered in ring.lines(from: frame.next) {
            guard frame.lines.count < limit, MonotonicTime.instant < end else { return frame }
            frame.next = numbered.number + 1
            if shows(numbered.line, now: now) { frame.lines.append(numbered) }
        }
        return frame
    }
}

/// How long a request may look at lines: others go on in between, and it ends after some seconds.
struct Patience {
    /// Each look at all lines with a usual query takes a tenth of it.
    private static let limit = Duration.seconds(3)
    /// How long it keeps a thread, of which there are as many as processors.
    private static let turn = Duration.milliseconds(10)

    private let end = MonotonicTime.instant + limit
    private var turnEnd = MonotonicTime.instant + turn

    /// Before each look.
    ///
    /// - Throws: ``ViewError`` when time is up, `CancellationError` when no tab waits for it.
    mutating func look() async throws {
        let now = MonotonicTime.instant
        guard now >= turnEnd else { return }
        guard now < end else {
            throw ViewError.tooLong(
                "the query was ended: it takes more than \(Self.limit.components.seconds) s; "
                    + "write a simpler regular expression, or ask for fewer lines with agent:, level: or age:"
            )
        }
        try Task.checkCancellation()
        await Task.yield()
        turnEnd = MonotonicTime.instant + Self.turn
    }
}

extension NumberedLine {
    var json: JSONValue {
        let event = line.event
        return [
            "n": .int(number), "t": .int(event.time), "level": .string(event.letter),
            "tag": .string(event.tag),
            "agent": .string(line.agent), "message": .string(event.message), "url": .init(event.url),
            "ref": .init(event.ref), "trace": .init(event.trace),
            "code": .init(line.code.map { Int64($0.number) }),
            "name": .init(line.code?.name), "failure": .bool(line.isReport || event.isError),
        ]
    }
}

extension LogEvent {
    /// By which an event differs from all others of its agent.
    fileprivate var place: [String] { [boot, String(sequence)] }
}
