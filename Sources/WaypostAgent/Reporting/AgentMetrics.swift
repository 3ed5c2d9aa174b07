import Metrics
import Threading
import Waypost
import WaypostMessages

/// The agent's counters and timers, for the backend that the process has for swift-metrics.
///
/// Counters are brought up to date from those that health shows, at least every 10 s, so that a command pays nothing
/// for them; only durations are recorded as they happen.
final class AgentMetrics: Sendable {
    /// How long handlers ran, `waypost_handler_seconds`.
    let handler: Timer
    /// How long commits took, `waypost_commit_seconds`.
    let commit: Timer

    private let commands: [Code.Status: Counter]
    private let received: Counter
    private let duplicates: Counter
    private let refused: Counter
    private let connects: Counter
    private let refusedPublishes: Counter
    private let events: Counter
    private let eventsDropped: Counter
    private let commandsWaiting: Gauge
    private let outboxWaiting: Gauge
    private let online: Gauge
    private let last = Guarded(Totals())

    /// What the counters have been brought up to.
    struct Totals: Sendable {
        var ended: [Code.Status: Int64] = [:]
        var received: Int64 = 0
        var duplicates: Int64 = 0
        var rejected: Int64 = 0
        var connects: Int64 = 0
        var refusedPublishes: Int64 = 0
        var events: Int64 = 0
        var eventsDropped: Int64 = 0
    }

    init(agent: String) {
        let labels = [("agent", agent)]
        handler = Timer(label: "waypost_handler_seconds", dimensions: labels)
        commit = Timer(label: "waypost_commit_seconds", dimensions: labels)
        commands = Dictionary(
            uniqueKeysWithValues: Code.Status.allCases.map {
                ($0, Counter(label: "waypost_commands_total", dimensions: labels + [("status", $0.rawValue)]))
            })
        received = Counter(label: "waypost_received_total", dimensions: labels)
        duplicates = Counter(label: "waypost_duplicates_total", dimensions: labels)
        refused = Counter(label: "waypost_refused_total", dimensions: labels)
        connects = Counter(label: "waypost_connects_total", dimensions: labels)
        refusedPublishes = Counter(label: "waypost_refused_publishes_total", dimensions: labels)
        events = Counter(label: "waypost_events_total", dimensions: labels)
        eventsDropped = Counter(label: "waypost_events_dropped_total", dimensions: labels)
        commandsWaiting = Gauge(label: "waypost_commands_waiting", dimensions: labels)
        outboxWaiting = Gauge(label: "waypost_outbox_waiting", dimensions: labels)
        online = Gauge(label: "waypost_online", dimensions: labels)
    }

    /// Brings the counters up to what was counted, and the gauges to what is now.
    ///
    /// `read` is called under the lock, so that older totals never replace newer ones.
    func bring(
        upTo read: () -> Totals, commandsWaiting waiting: Int, outbox: Int, isOnline: Bool
    ) {
        last.withLock { last in
            let totals = read()
            for (status, counter) in commands {
                counter.increment(by: (totals.ended[status] ?? 0) - (last.ended[status] ?? 0))
            }
            received.increment(by: totals.received - last.received)
            duplicates.increment(by: totals.duplicates - last.duplicates)
            refused.increment(by: totals.rejected - last.rejected)
            connects.increment(by: totals.connects - last.connects)
            refusedPublishes.increment(by: totals.refusedPublishes - last.refusedPublishes)
            events.increment(by: totals.events - last.events)
            eventsDropped.increment(by: totals.eventsDropped - last.eventsDropped)
            last = totals
        }
        commandsWaiting.record(waiting)
        outboxWaiting.record(outbox)
        online.record(isOnline ? 1 : 0)
    }
}
