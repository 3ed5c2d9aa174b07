import DequeModule
import Glibc
import MQTTLink
import Waypost
import WaypostMessages

/// The logcat of the agent: numbers events, keeps recent ones, and publishes those of the wanted level in batches.
final class EventLog: Sendable {
    /// The most events in one payload.
    static let maximumBatch = 64
    /// The most bytes in one payload.
    static let maximumBatchBytes = 32 * 1024
    /// How long events gather, in milliseconds.
    static let gathering = 200
    /// Events that wait for the broker; beyond it the least important are shed.
    static let maximumPending = 1_000

    fileprivate struct State {
        var sequence: Int64 = 0
        var ring: Deque<LogEvent> = []
        var pending: Deque<LogEvent> = []
        var dropped: Int64 = 0
        var droppedEver: Int64 = 0
        var bucket: TokenBucket
        var level: LogLevel
        var override: LevelOverride?
        var isFlushing = false
    }

    /// A level asked for by the `log` command, until it ends by itself.
    struct LevelOverride: Sendable, Equatable {
        var level: LogLevel
        var tag: String?
        /// The agent's wall clock, in milliseconds since 1970.
        var until: Int64
    }

    let boot: String
    private let process = Int64(getpid())
    private let agent: String
    private let topics: Topics
    private let outbox: Outbox
    private let clock: AgentClock
    private let limits: AgentLimits
    let redaction: Redaction
    private let state: Guarded<State>

    init(
        agent: String, boot: String, topics: Topics, outbox: Outbox, clock: AgentClock, limits: AgentLimits,
        level: LogLevel, redaction: Redaction
    ) {
        self.redaction = redaction
        self.agent = agent
        self.boot = boot
        self.topics = topics
        self.outbox = outbox
        self.clock = clock
        self.limits = limits
        let bucket = TokenBucket(rate: limits.logRate, burst: limits.logBurst, at: clock.monotonic())
        state = Guarded(State(bucket: bucket, level: level))
    }

    /// The highest sequence number given so far.
    var sequence: Int64 { state.withLock(\.sequence) }
    /// Events shed since the start.
    var dropped: Int64 { state.withLock(\.droppedEver) }
    /// Whether events of `level` are published now.
    private func isPublished(_ level: LogLevel, tag: String) -> Bool {
        state.withLock { $0.publishes(level, tag: tag, at: clock.wall()) }
    }

    func setLevel(_ level: LogLevel) {
        state.withLock { $0.level = level }
    }

    func setOverride(_ override: LevelOverride?) {
        state.withLock { $0.override = override }
    }

    /// Takes note of an event, and publishes it soon when its level is published.
    ///
    /// An event of another level costs a look at the level. It gets no number, for a number that never appears
    /// would look to a reader like a loss.
    func log(
        _ level: LogLevel, _ tag: String, _ message: @autoclosure () -> String, url: String? = nil,
        isError: Bool = false, ref: String? = nil
    ) {
        guard isPublished(level, tag: tag) else { return }
        var event = LogEvent(
            time: clock.wall(), level: level, tag: tag, boot: boot, sequence: 0, process: process,
            thread: CurrentThread.id,
            message: redaction.masked(message()).cut(to: LogEvent.maximumMessageBytes),
            url: url.map(redaction.masked), isError: isError, ref: ref)
        let mustFlush = state.withLock { state -> Bool in
            state.sequence += 1
            event.sequence = state.sequence
            state.ring.append(event)
            if state.ring.count > limits.logRing { state.ring.removeFirst() }
            // Failures are never held back by the rate of the rest.
            guard state.bucket.take(at: clock.monotonic()) || level >= .error else {
                state.dropped += 1
                state.droppedEver += 1
                return false
            }
            state.append(event)
            defer { state.isFlushing = true }
            return !state.isFlushing
        }
        if mustFlush {
            Task { await flushSoon() }
        }
    }

    /// Publishes recent events again; returns how many, and the number of the last.
    func replay(since sequence: Int64, maximum: Int) -> (count: Int, last: Int64) {
        let events = state.withLock { state in
            Array(state.ring.lazy.filter { $0.sequence > sequence }.suffix(maximum))
        }
        publish(events)
        return (events.count, events.last?.sequence ?? sequence)
    }

    /// Publishes what gathered, now.
    func flush() {
        let events = state.withLock { state -> [LogEvent] in
            state.isFlushing = false
            defer { state.pending = [] }
            guard var first = state.pending.first else { return [] }
            first.dropped = state.dropped
            state.dropped = 0
            return [first] + state.pending.dropFirst()
        }
        publish(events)
    }

    private func flushSoon() async {
        try? await Task.sleep(for: .milliseconds(Self.gathering))
        // While older lines wait for the broker the newer ones gather here, where they can be shed by level.
        while outbox.waitingLogs > 100 { try? await Task.sleep(for: .milliseconds(Self.gathering)) }
        flush()
    }

    private func publish(_ events: [LogEvent]) {
        var items: [OutboxItem] = []
        for level in LogLevel.allCases {
            var batch: [UInt8] = []
            var count = 0
            func close() {
                guard count > 0 else { return }
                var properties = MQTTProperties()
                properties.contentType = "application/x-ndjson"
                properties.payloadIsUTF8 = true
                let message = MQTTMessage(
                    topic: topics.log(of: agent, level: level), payload: batch,
                    qos: level.isDeliveredAtLeastOnce ? .atLeastOnce : .atMostOnce, properties: properties)
                items.append(OutboxItem(origin: .volatile, kind: .log, message: message))
                batch = []
                count = 0
            }
            for event in events where event.level == level {
                let line = event.encoded()
                if count == Self.maximumBatch || batch.count + line.count + 1 > Self.maximumBatchBytes {
                    close()
                }
                if count > 0 { batch.append(UInt8(ascii: "\n")) }
                batch += line
                count += 1
            }
            close()
        }
        outbox.enqueue(items)
    }
}

extension EventLog.State {
    func publishes(_ level: LogLevel, tag: String, at now: Int64) -> Bool {
        if let override, now < override.until, override.tag == nil || override.tag == tag {
            return level >= override.level
        }
        return level >= self.level
    }

    /// Adds an event; when too many wait, the oldest of the lowest level goes.
    mutating func append(_ event: LogEvent) {
        pending.append(event)
        guard pending.count > EventLog.maximumPending,
            let lowest = pending.lazy.map(\.level).min(),
            let index = pending.firstIndex(where: { $0.level == lowest })
        else { return }
        pending.remove(at: index)
        dropped += 1
        droppedEver += 1
    }
}

extension String {
    /// The text, cut to `limit` bytes at a character's edge, with an ellipsis when something was cut.
    func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit - 3))
        while String.Index(end, within: self) == nil { end = utf8.index(before: end) }
        return self[..<end] + "…"
    }
}
