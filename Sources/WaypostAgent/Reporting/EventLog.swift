import DequeModule
import MQTTLink
import Threading
import Waypost
import WaypostMessages

/// The logcat of the agent: numbers events, keeps recent ones, and publishes those of the wanted level in batches.
final class EventLog: Sendable {
    /// The most events in one payload.
    static let maximumBatch = 64
    /// The most bytes in one payload.
    static let maximumBatchBytes = 32 * 1024
    /// How long events gather, in milliseconds.
    static let gathering = 50

    /// Events of one level as they are published: a line an event.
    struct Batch: Sendable {
        var level: LogLevel
        var payload: [UInt8] = []
        var events = 0
    }

    /// What takes the events; connected by the agent.
    struct Connection: Sendable {
        var publish: @Sendable ([Batch]) -> Void
        /// Whether what is published goes out soon.
        var hasRoom: @Sendable () -> Bool
        /// The most bytes that the broker takes in one payload.
        var maximumBytes: @Sendable () -> Int
    }

    fileprivate struct State {
        var sequence: Int64 = 0
        var recent: RecentEvents
        var pending: Deque<LogEvent> = []
        var dropped: Int64 = 0
        var droppedEver: Int64 = 0
        var bucket: TokenBucket
        var level: LogLevel
        /// What a command asked for, and when that ends, by the monotonic clock.
        var override: (asked: LevelOverride, end: Int64)?
        var isFlushing = false
    }

    let boot: String
    private let process = CurrentThread.process
    private let clock: AgentClock
    private let limits: AgentLimits
    let redaction: Redaction
    private let state: Guarded<State>
    /// Held until the agent has what was taken out: a flush that finds nothing has nothing in flight before it.
    ///
    /// So what the agent does to publish may log, and must neither flush nor replay.
    private let connection = Guarded<Connection?>(nil)

    init(boot: String, clock: AgentClock, limits: AgentLimits, level: LogLevel, redaction: Redaction) {
        self.redaction = redaction
        self.boot = boot
        self.clock = clock
        self.limits = limits
        let bucket = TokenBucket(rate: limits.logRate, burst: limits.logBurst, at: clock.monotonic())
        state = Guarded(State(recent: RecentEvents(limit: limits.logRing), bucket: bucket, level: level))
    }

    /// The highest sequence number given so far.
    var sequence: Int64 { state.withLock(\.sequence) }
    /// Events dropped since the start.
    var dropped: Int64 { state.withLock(\.droppedEver) }
    /// Events that no event has told of yet: those that were dropped, and those that wait.
    var unsaid: Int64 { state.withLock { $0.dropped + Int64($0.pending.count) } }
    /// Whether events of `level` are published now.
    private func isPublished(_ level: LogLevel, tag: String) -> Bool {
        state.withLock { $0.publishes(level, tag: tag, at: clock.monotonic()) }
    }

    /// Begins to publish; what was logged before waits for this.
    func connect(_ connection: Connection) {
        self.connection.withLock { $0 = connection }
        flushWhenRoom()
    }

    /// Events were dropped on their way to the broker.
    func lost(_ count: Int) {
        guard count > 0 else { return }
        state.withLock { state in
            state.dropped += Int64(count)
            state.droppedEver += Int64(count)
        }
    }

    /// So many of the run before this one did not get out: the next event tells of them.
    func continues(after unsaid: Int64) { state.withLock { $0.dropped += unsaid } }

    func setLevel(_ level: LogLevel) {
        state.withLock { $0.level = level }
    }

    /// Publishes more or less for a while, and an event that says so, whatever else is published; returns the lowest
    /// level that is published then.
    @discardableResult
    func setOverride(_ override: LevelOverride) -> LogLevel {
        // Never for longer than can be asked for, however wrong the clock was when it was stored.
        let remaining = min(max(0, override.until - clock.wall()), Command.maximumLogDuration)
        let end = clock.monotonic() + remaining
        let lowest = state.withLock { state in
            state.override = remaining > 0 ? (override, end) : nil
            return override.lowest(over: state.level)
        }
        guard remaining > 0 else { return lowest }
        // To the second: of five minutes a few milliseconds have passed, and they are five to a reader.
        let what = override.tag.map { "events of tag \($0)" } ?? "events"
        log(
            .warning, "Agent",
            "\(override.sender ?? "a sender") asked for \(what) of level \(override.level.letter) and higher for \(TimeText.span((remaining + 999) / 1_000 * 1_000))"
                + (lowest < override.level ? "; \(lowest.letter) and higher are published" : ""),
            isAlways: true)
        return lowest
    }

    /// What is published: `{"level","override"}`, the level of the configuration and what a command asked for.
    var levelDocument: JSONValue {
        let (level, override) = state.withLock { state in
            (state.level, state.override.flatMap { clock.monotonic() < $0.end ? $0.asked : nil })
        }
        return [
            "level": .string(level.topicLevel),
            "override": override.map { redaction.masked($0.json) } ?? .null,
        ]
    }

    /// Takes note of an event, and publishes it soon when its level is published.
    ///
    /// An event of another level costs a look at the level. It gets no number, because a number that
    /// never appears would look like a loss to a reader.
    ///
    /// - Parameters:
    ///   - command: which it is about; the trace is that of the command for which the task runs unless given.
    ///   - isAlways: whether it is published at any level and rate.
    func log(
        _ level: LogLevel, _ tag: String, _ message: @autoclosure () -> String, url: String? = nil,
        isError: Bool = false, of command: CommandReference? = nil, isAlways: Bool = false
    ) {
        guard isAlways || isPublished(level, tag: tag) else { return }
        let message = redaction.masked(message()).cut(to: LogEvent.maximumMessageBytes)
        let url = url.map(redaction.masked)
        let (time, thread) = (clock.wall(), CurrentThread.id)
        let trace = command.map(\.trace) ?? CommandReference.current?.trace
        let mustFlush = state.withLock { state -> Bool in
            state.sequence += 1
            let event = LogEvent(
                time: time, level: level, tag: tag, boot: boot, sequence: state.sequence, process: process,
                thread: thread, message: message, url: url, isError: isError, ref: command?.id,
                trace: trace)
            state.recent.append(event)
            // Errors are never dropped because of the rate of other events.
            guard state.bucket.take(at: clock.monotonic()) || level >= .error || isAlways else {
                state.dropped += 1
                state.droppedEver += 1
                return false
            }
            state.append(event, limit: limits.logPending)
            defer { state.isFlushing = true }
            return !state.isFlushing
        }
        if mustFlush { flushSoon() }
    }

    /// Publishes recent events again; returns how many, and the number of the last.
    func replay(since sequence: Int64, maximum: Int) -> (count: Int, last: Int64) {
        let events = state.withLock { state in
            state.recent.events(after: sequence, maximum: maximum, boot: boot, process: process)
        }
        connection.withLock { $0?.publish(events) }
        return (events.count, events.last?.sequence ?? sequence)
    }

    /// The last so many events with numbers in this range, in order.
    func recent(_ range: Range<Int64>, maximum: Int) -> [LogEvent] {
        state.withLock { $0.recent.events(range, maximum: maximum, boot: boot, process: process) }
    }

    /// The oldest event that is still there.
    var oldest: LogEvent? {
        state.withLock { state in
            guard let first = state.recent.numbers?.lowerBound else { return nil }
            return state.recent.events(first..<first + 1, maximum: 1, boot: boot, process: process).first
        }
    }

    /// The most bytes that the broker takes in one payload.
    var maximumBytes: Int { connection.withLock { $0?.maximumBytes() } ?? .max }

    /// Publishes what gathered; the agent has it when this returns.
    func flush() {
        connection.withLock { connection in
            connection?.publish(state.withLock { $0.takePending() })
        }
    }

    /// Publishes what waits, after a moment in which more may gather.
    private func flushSoon() {
        AgentThreads.start { [self] in
            await AgentThreads.sleep(for: .milliseconds(Self.gathering))
            // While older lines wait for the broker the newer ones gather here, where they can be dropped by level.
            if connection.withLock({ $0 })?.hasRoom() ?? false {
                flush()
            } else {
                state.withLock { $0.isFlushing = false }
            }
        }
    }

    /// There is space again for what gathered meanwhile.
    func flushWhenRoom() {
        let mustFlush = state.withLock { state in
            guard !state.isFlushing, !state.pending.isEmpty else { return false }
            state.isFlushing = true
            return true
        }
        if mustFlush { flushSoon() }
    }
}

extension EventLog.Connection {
    /// Publishes events in batches of one level.
    fileprivate func publish(_ events: some RandomAccessCollection<LogEvent>) {
        guard !events.isEmpty else { return }
        // The broker may take less than we would send.
        let maximumBytes = min(EventLog.maximumBatchBytes, maximumBytes())
        var batches: [EventLog.Batch] = []
        for level in LogLevel.allCases {
            var batch = EventLog.Batch(level: level)
            for index in events.indices where events[index].level == level {
                let line = events[index].encoded()
                if batch.events == EventLog.maximumBatch
                    || batch.payload.count + line.count + 1 > maximumBytes
                {
                    batches.append(batch)
                    batch = EventLog.Batch(level: level)
                }
                if batch.events > 0 { batch.payload.append(UInt8(ascii: "\n")) }
                batch.payload += line
                batch.events += 1
            }
            batches.append(batch)
        }
        publish(batches.filter { $0.events > 0 })
    }
}

extension EventLog.State {
    func publishes(_ level: LogLevel, tag: String, at now: Int64) -> Bool {
        guard let (asked, end) = override, now < end, asked.tag == nil || asked.tag == tag else {
            return level >= self.level
        }
        return level >= asked.lowest(over: self.level)
    }

    /// What waits, with how many were dropped before it.
    mutating func takePending() -> Deque<LogEvent> {
        isFlushing = false
        guard !pending.isEmpty else { return [] }
        pending[0].dropped = dropped
        dropped = 0
        defer { pending = [] }
        return pending
    }

    /// Adds an event; when too many wait, the oldest of the lowest level goes.
    mutating func append(_ event: consuming LogEvent, limit: Int) {
        pending.append(event)
        guard pending.count > limit,
            let lowest = pending.lazy.map(\.level).min(),
            let index = pending.firstIndex(where: { $0.level == lowest })
        else { return }
        pending.remove(at: index)
        dropped += 1
        droppedEver += 1
    }
}
