import Metrics
import Threading
import Waypost
import WaypostMessages

/// The agent's counters and timers, for the backend that the process has for swift-metrics.
///
/// Counters are brought up to date from those that health shows, at least every 10 s, so that a command pays nothing
/// for them; only durations are recorded as they happen.
package final class AgentMetrics: Sendable {
    /// What each metric of an agent counts, in the words that a scraper shows.
    package static let help = [
        "waypost_certificate_days": "Days until the certificate of the agent or of the broker expires.",
        "waypost_check": "Whether a health check is ok (1), failed (0) or unknown (NaN).",
        "waypost_commands_total": "Commands that ended, by status.",
        "waypost_commands_waiting": "Commands that wait or run.",
        "waypost_commit_seconds": "How long commits to the state file took.",
        "waypost_connects_total": "Connections to a broker.",
        "waypost_duplicates_total": "Commands received more than once.",
        "waypost_events_dropped_total": "Log events that were dropped.",
        "waypost_events_total": "Log events.",
        "waypost_handler_seconds": "How long commands ran.",
        "waypost_ids": "Ids of commands that are remembered.",
        "waypost_ids_limit": "Ids beyond which new commands are refused.",
        "waypost_map_inactive_entries": "Entries of the relocation maps that are not in force.",
        "waypost_map_revision": "Revision of the relocation map of a layer; NaN when there is none.",
        "waypost_online": "Whether the agent is connected to a broker (1) or not (0).",
        "waypost_open_seconds": "How long opens took, by route.",
        "waypost_opens_total": "Opens, by route and result.",
        "waypost_outbox_waiting": "Messages that wait for the broker.",
        "waypost_received_total": "Commands received.",
        "waypost_refused_publishes_total": "Messages that the broker refused, or that could not be sent.",
        "waypost_refused_total": "Commands that were refused before they ran.",
        "waypost_store_bytes": "Bytes that the state file holds.",
        "waypost_store_limit_bytes": "Bytes beyond which nothing new is stored.",
    ]

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
    /// Gauges by name, and by the value of their label, or none: some come and go.
    private let gauges = Guarded<[String: [String?: Gauge]]>([:])
    /// Whether the process has a backend for metrics.
    let isRead = !(MetricsSystem.factory is NOOPMetricsHandler)
    private let agent: String
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

    /// What is now.
    struct Levels: Sendable {
        var commandsWaiting: Int
        var outbox: Int
        var isOnline: Bool
        var checks: [(name: String, state: HealthCheck.State)]
        var revisions: [(layer: String, revision: Int64)]
        var inactiveEntries: Int
        var certificateDays: [(whose: String, days: Int64)]
        var ids: (held: Int, limit: Int)
        var store: (held: Int, limit: Int)
    }

    init(agent: String) {
        self.agent = agent
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
    }

    /// Brings the counters up to what was counted, and the gauges to what is now.
    ///
    /// `read` is called under the lock, so that older totals never replace newer ones.
    func bring(upTo read: () -> Totals, _ levels: Levels) {
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
        record(
            "waypost_check", "check",
            levels.checks.map { ($0.name, $0.state == .unknown ? .nan : $0.state == .ok ? 1 : 0) })
        record("waypost_map_revision", "layer", levels.revisions.map { ($0.layer, Double($0.revision)) })
        record(
            "waypost_certificate_days", "certificate",
            levels.certificateDays.map { ($0.whose, Double($0.days)) })
        for (name, value) in [
            ("waypost_commands_waiting", levels.commandsWaiting), ("waypost_outbox_waiting", levels.outbox),
            ("waypost_online", levels.isOnline ? 1 : 0),
            ("waypost_map_inactive_entries", levels.inactiveEntries), ("waypost_ids", levels.ids.held),
            ("waypost_ids_limit", levels.ids.limit), ("waypost_store_bytes", levels.store.held),
            ("waypost_store_limit_bytes", levels.store.limit),
        ] {
            gauge(name).record(value)
        }
    }

    /// Records a family of gauges; those that are gone become NaN.
    private func record(_ name: String, _ label: String, _ values: [(String, Double)]) {
        for (value, number) in values { gauge(name, (label, value)).record(number) }
        let gone = gauges.withLock { known in
            known[name]?.filter { gauge in !values.contains { $0.0 == gauge.key } } ?? [:]
        }
        for gauge in gone.values { gauge.record(Double.nan) }
    }

    private func gauge(_ name: String, _ label: (String, String)? = nil) -> Gauge {
        gauges.withLock { known in
            if let gauge = known[name]?[label?.1] { return gauge }
            let gauge = Gauge(label: name, dimensions: [("agent", agent)] + [label].compactMap(\.self))
            known[name, default: [:]][label?.1] = gauge
            return gauge
        }
    }
}
