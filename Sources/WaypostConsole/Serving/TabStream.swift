import Threading
import Waypost
import WaypostMessages

/// What one tab is sent: made only as fast as the tab reads, from what all tabs share, so that a slow one costs nothing.
struct TabStream: Sendable {
    /// Lines in one frame.
    static let frameLines = 64
    /// The most lines that a tab may be behind.
    static let backlog = 2_000
    /// How often it is looked for news.
    static let pace = Duration.milliseconds(100)
    /// How long it looks for lines each time: a query that takes longer gets behind, and says so.
    static let turn = Duration.milliseconds(20)

    private let reader: FleetReader
    private let log: LogView?
    private let agent: String?
    private let tabs: Tabs
    private let status: @Sendable () -> JSONValue

    private var nextLine: Int64
    private var dropped: Int64 = 0
    private var fleetRevision: Int64 = -1
    private var agentRevision: Int64 = -1
    private var failures: Int64 = -1
    private var lastStatus = JSONValue.null
    private var ticks = 0

    /// - Parameters:
    ///   - lastLine: The number of the last line that the tab has; nil to begin with what comes.
    init(
        _ reader: FleetReader, log: LogView?, agent: String?, lastLine: Int64?, tabs: Tabs,
        status: @escaping @Sendable () -> JSONValue
    ) {
        (self.reader, self.log, self.agent, self.tabs, self.status) = (reader, log, agent, tabs, status)
        nextLine = reader.read { state in
            // A number of another run of the console, or one that no line has, says nothing.
            guard let lastLine, (0..<state.lines.next).contains(lastLine) else { return state.lines.next }
            return lastLine + 1
        }
    }

    /// The events that are due now; empty when there are none.
    mutating func next() -> [UInt8] {
        defer { ticks += 1 }
        let now = WallClock.now()
        var output: [UInt8] = []
        let connection = reader.connection
        let (fleet, failed, changed, lines) = reader.read { state in
            (
                (state.revision, state.rows.count), state.failures.total,
                agent.map { state.revisions[$0] ?? 0 }, state.lines
            )
        }
        let frame = log?.frame(
            of: lines, from: nextLine, limit: Self.frameLines, backlog: Self.backlog, within: Self.turn,
            now: now)
        if let frame {
            nextLine = frame.next
            dropped.add(clamping: frame.dropped)
            tabs.drop(frame.dropped)
            if !frame.lines.isEmpty || frame.dropped > 0 {
                for line in frame.lines { tabs.sent(after: now.subtracting(clamping: line.arrived)) }
                Self.add(
                    "log", id: nextLine - 1,
                    ["lines": .array(frame.lines.map(\.json)), "dropped": .int(frame.dropped)], to: &output)
            }
        }
        // Four times a second at most.
        if ticks % 3 == 0, fleet.0 != fleetRevision {
            fleetRevision = fleet.0
            Self.add(
                "fleet",
                [
                    "revision": .int(fleet.0), "asOf": .int(now), "total": .int(Int64(fleet.1)),
                    "complete": .bool(connection.isComplete),
                ], to: &output)
        }
        if ticks % 3 == 0, let changed, changed != agentRevision {
            agentRevision = changed
            Self.add("agent", ["revision": .int(changed)], to: &output)
        }
        if ticks % 10 == 0, failed != failures {
            failures = failed
            Self.add("failures", ["revision": .int(failed), "total": .int(failed)], to: &output)
        }
        if ticks % 5 == 0 {
            let status = self.status().merging(["dropped": .int(dropped)])
            let telling = status.merging(["now": .null, "asOf": .null, "rate": .null])
            if ticks % 50 == 0 || telling != lastStatus {
                lastStatus = telling
                Self.add("status", status, to: &output)
            }
        }
        return output
    }

    private static func add(_ event: String, id: Int64? = nil, _ data: JSONValue, to output: inout [UInt8]) {
        if let id { output += Array("id: \(id)\n".utf8) }
        output += Array("event: \(event)\ndata: ".utf8) + data.serialized() + Array("\n\n".utf8)
    }
}

/// The tabs that are open, and how late they get their lines.
final class Tabs: Sendable {
    static let maximum = 48

    private struct State {
        var open = 0
        var dropped: Int64 = 0
        /// The last times from a line's arrival to its sending, in milliseconds.
        var lags: [Int64] = []
        var nextLag = 0
    }

    private static let lagCapacity = 2_048
    private let state = Guarded(State())

    var count: Int { state.withLock { $0.open } }

    /// How many lines went by while a tab did not read.
    var dropped: Int64 { state.withLock { $0.dropped } }

    func drop(_ count: Int64) { state.withLock { $0.dropped.add(clamping: count) } }

    /// False when there are too many.
    func enter() -> Bool {
        state.withLock { state in
            guard state.open < Self.maximum else { return false }
            state.open += 1
            return true
        }
    }

    func leave() { state.withLock { $0.open -= 1 } }

    func sent(after lag: Int64) {
        state.withLock { state in
            if state.lags.count < Self.lagCapacity {
                state.lags.append(lag)
            } else {
                state.lags[state.nextLag] = lag
                state.nextLag = (state.nextLag + 1) % Self.lagCapacity
            }
        }
    }

    /// The lag that half of the lines, and 99 of 100, do not exceed; nil before the first line.
    var lag: (p50: Int64, p99: Int64)? {
        let sorted = state.withLock { $0.lags }.sorted()
        guard !sorted.isEmpty else { return nil }
        return (sorted[sorted.count / 2], sorted[min(sorted.count - 1, sorted.count * 99 / 100)])
    }
}
