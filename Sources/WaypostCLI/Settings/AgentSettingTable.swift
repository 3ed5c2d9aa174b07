import MQTTLink
import Waypost
import WaypostAgent

/// One numeric setting of an agent: its option, environment variable, line in the file, help and check follow from it.
struct AgentSetting: Sendable {
    /// `dedupe-keys`.
    let name: String
    /// What it does, in one sentence.
    let meaning: String
    let range: ClosedRange<Int>
    /// What is counted: `number`, `seconds`, `bytes`.
    let unit: String
    /// Whether SIGHUP changes it.
    let changesAtRunTime: Bool
    let get: @Sendable (AgentConfiguration) -> Int
    let set: @Sendable (inout AgentConfiguration, Int) -> Void

    private static func limit(
        _ name: String, _ range: ClosedRange<Int>, _ limit: any WritableKeyPath<AgentLimits, Int> & Sendable,
        _ meaning: String, unit: String = "number", changesAtRunTime: Bool = false
    ) -> AgentSetting {
        AgentSetting(
            name: name, meaning: meaning, range: range, unit: unit, changesAtRunTime: changesAtRunTime,
            get: { $0.limits[keyPath: limit] }, set: { $0.limits[keyPath: limit] = $1 })
    }

    /// In whole seconds.
    private static func time(
        _ name: String, _ range: ClosedRange<Int>,
        _ time: any WritableKeyPath<AgentConfiguration, Duration> & Sendable, _ meaning: String
    ) -> AgentSetting {
        AgentSetting(
            name: name, meaning: meaning, range: range, unit: "seconds", changesAtRunTime: false,
            get: { Int(clamping: $0[keyPath: time].components.seconds) },
            set: { $0[keyPath: time] = .seconds($1) })
    }

    /// All of them, in the order of the help.
    static let all: [AgentSetting] = [
        .time(
            "keepalive", 5...3_600, \.link.keepAlive,
            "Send something to the broker at least this often; after twice this time without an answer the "
                + "connection counts as lost."),
        .time("health-interval", 1...86_400, \.healthInterval, "Publish health this often, ± 10 %."),
        .time(
            "stop-within", 1...600, \.stopWithin, "End at the latest after this time when asked to stop."),
        .limit(
            "intake-rate", 0...1_000_000, \.intakeRate,
            "Commands per second that one sender may send; 0 means no limit.", changesAtRunTime: true),
        .limit(
            "intake-burst", 0...1_000_000, \.intakeBurst,
            "Commands that one sender may send at once.", changesAtRunTime: true),
        .limit(
            "command-bytes", 1_024...1_048_576, \.commandBytes,
            "The longest command; a longer one is answered 413 TOO_LARGE.", unit: "bytes"),
        .limit(
            "map-bytes", 1_024...1_048_576, \.mapBytes,
            "The longest map or patch; a longer one is refused with 413 TOO_LARGE.", unit: "bytes"),
        .limit(
            "json-depth", 2...128, \.json.maximumDepth, "The deepest nesting of a command or a map."),
        .limit(
            "json-keys", 16...100_000, \.json.maximumKeys,
            "The most keys of one object in a command or a map."),
        .limit(
            "json-string-bytes", 64...1_048_576, \.json.maximumStringBytes,
            "The longest text in a command or a map.", unit: "bytes"),
        .limit(
            "waiting-commands", 1...1_000_000, \.waitingCommands,
            "Commands that may wait or run at the same time; more are answered 429 BUSY."),
        .limit(
            "dedupe-keys", 1...10_000_000, \.dedupeKeys,
            "Commands that are remembered, to recognise a repeated id; more are answered 429 BUSY."),
        .limit(
            "commit-entries", 1...1_000_000, \.commitEntries,
            "The most steps of commands that one write to the disk carries; 1 is for measurements only."),
        .limit("log-rate", 1...1_000_000, \.logRate, "Log events per second that are published."),
        .limit("log-burst", 1...1_000_000, \.logBurst, "Log events that are published at once."),
        .limit(
            "log-ring", 1...1_000_000, \.logRing, "Recent log events that are kept for waypost replay."),
        .limit(
            "outbox-records", 1...1_000_000, \.outboxRecords,
            "Failure reports that may wait for the broker; more are dropped and counted."),
        .limit(
            "outbox-bytes", 65_536...1_073_741_824, \.outboxBytes,
            "Bytes of failure reports that may wait for the broker; more are dropped and counted.",
            unit: "bytes"),
        .limit(
            "in-flight", 1...65_535, \.inFlight,
            "Messages at QoS 1 that the broker has not acknowledged yet; the broker may lower it."),
        .time(
            "handler-deadline", 1...86_400, \.limits.handlerDeadline, "How long a handler may run."),
    ]
}
