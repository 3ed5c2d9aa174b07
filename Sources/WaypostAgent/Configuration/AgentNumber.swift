import MQTTLink

/// A setting that is a number with a range: a row of ``AgentSetting/all``.
package struct AgentNumber: Sendable {
    /// The name of the option, of the key in the file and, in capitals behind `WAYPOST_`, of the variable.
    package let name: String
    /// One sentence for `--help`.
    package let meaning: String
    /// What may be set.
    package let range: ClosedRange<Int>
    /// `number`, `bytes`, `percent` or `seconds`.
    package let unit: String
    /// Whether SIGHUP changes it while the agent runs.
    let changesAtRunTime: Bool
    /// The name among the limits in health; nil for what is no limit.
    package let healthName: String?
    private let value: Value

    private enum Value: Sendable {
        case number(any WritableKeyPath<AgentConfiguration, Int> & Sendable)
        /// One of the limits that health shows, under its name without hyphens: `mapBytes`.
        case limit(any WritableKeyPath<AgentConfiguration, Int> & Sendable)
        case duration(any WritableKeyPath<AgentConfiguration, Duration> & Sendable)
        case word(any WritableKeyPath<AgentConfiguration, UInt32> & Sendable)
        /// One of the limits that health shows, too.
        case wordLimit(any WritableKeyPath<AgentConfiguration, UInt32> & Sendable)
    }

    private init(
        _ name: String, _ meaning: String, _ range: ClosedRange<Int>, unit: String = "number",
        changesAtRunTime: Bool = false, _ value: Value
    ) {
        self.name = name
        self.meaning = meaning
        self.range = range
        self.unit = unit
        self.changesAtRunTime = changesAtRunTime
        self.value = value
        let words = name.split(separator: "-")
        healthName =
            switch value {
            case .limit, .wordLimit:
                words.dropFirst().reduce("\(words[0])") { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
            case .number, .duration, .word: nil
            }
    }

    /// The value in a configuration, in ``unit``.
    package func get(_ configuration: AgentConfiguration) -> Int {
        switch value {
        case .number(let path), .limit(let path): configuration[keyPath: path]
        case .duration(let path): Int(clamping: configuration[keyPath: path].components.seconds)
        case .word(let path), .wordLimit(let path): Int(clamping: configuration[keyPath: path])
        }
    }

    /// Sets the value, in ``unit``.
    package func set(_ configuration: inout AgentConfiguration, _ number: Int) {
        switch value {
        case .number(let path), .limit(let path): configuration[keyPath: path] = number
        case .duration(let path): configuration[keyPath: path] = .seconds(number)
        case .word(let path), .wordLimit(let path):
            configuration[keyPath: path] = UInt32(clamping: number)
        }
    }

    /// The value of an agent that does not set it.
    package var standard: Int {
        self.get(
            AgentConfiguration(
                agent: "", stateDirectory: "", link: MQTTLinkConfiguration(brokers: [], clientID: "")))
    }

    /// Every number that can be set.
    package static let all: [AgentNumber] = [
        AgentNumber(
            "keepalive",
            "How long the broker may be silent: after half of it the agent tests the connection, then it reconnects.",
            5...3_600, unit: "seconds", .duration(\.link.keepAlive)),
        AgentNumber(
            "will-delay",
            "How long the broker waits before it publishes that the agent is lost, with MQTT 5; 0 is not at all.",
            0...3_600, unit: "seconds", .word(\.link.willDelay)),
        AgentNumber(
            "session-expiry",
            "How long the broker keeps what is sent to the agent while it is away, with MQTT 5; its own limit may be lower.",
            3_600...2_592_000, unit: "seconds", .wordLimit(\.link.sessionExpiry)),
        AgentNumber(
            "group-qos",
            "The QoS of what is sent to groups; 0 is for a cluster of NATS before 2.14, which cuts such topics at 1.",
            0...1, .number(\.groupQoS)),
        AgentNumber(
            "health-interval", "Time between two health documents, plus or minus 10 %.", 1...86_400,
            unit: "seconds", .duration(\.healthInterval)),
        AgentNumber(
            "renew-after", "After which part of its life the agent's certificate is due, see renew.", 1...99,
            unit: "percent", .number(\.renewAfter)),
        AgentNumber(
            "stop-within", "The longest time a stop may take.", 1...300, unit: "seconds",
            .duration(\.stopWithin)),
        AgentNumber(
            "handler-deadline",
            "The longest time a handler may run; then the command ends with 408 DEADLINE.", 1...86_400,
            unit: "seconds", .duration(\.limits.handlerDeadline)),
        AgentNumber(
            "handler-threads",
            "Threads for handlers that block; when all are blocked, commands end with 408 DEADLINE.",
            2...4_096, .limit(\.limits.handlerThreads)),
        AgentNumber(
            "intake-rate", "Messages per second, on average, that one sender may send; 0 is no limit.",
            0...1_000_000, changesAtRunTime: true, .limit(\.limits.intakeRate)),
        AgentNumber(
            "intake-burst", "Messages that one sender may send at once.", 0...1_000_000,
            changesAtRunTime: true, .limit(\.limits.intakeBurst)),
        AgentNumber(
            "senders", "Senders whose rate and seq are kept in memory.", 1...1_000_000,
            .limit(\.limits.senders)),
        AgentNumber(
            "sender-share",
            "How much of each table one sender may hold: ids, waiting commands, the store, failure reports.",
            1...100, unit: "percent", .limit(\.limits.senderShare)),
        AgentNumber(
            "command-bytes", "The longest command; a longer one is refused with 413 TOO_LARGE.",
            1_024...16_777_216, unit: "bytes", .limit(\.limits.commandBytes)),
        AgentNumber(
            "map-bytes", "The longest map or patch; a longer one is refused with 413 TOO_LARGE.",
            1_024...67_108_864, unit: "bytes", .limit(\.limits.mapBytes)),
        AgentNumber(
            "map-rate",
            "Maps and patches per second that are read for one layer, and documents of groups; 0 is no limit.",
            0...1_000_000, .limit(\.limits.mapRate)),
        AgentNumber(
            "packet-bytes", "The largest packet that is sent; a larger result becomes a 413 reply.",
            4_096...67_108_864, unit: "bytes", .limit(\.limits.packetBytes)),
        AgentNumber(
            "waiting-commands", "Commands that wait or run at the same time; more are refused with 429 BUSY.",
            1...1_000_000, .limit(\.limits.waitingCommands)),
        AgentNumber(
            "scheduled-commands",
            "Commands that came before their time, see after and window, and have not ended; more are refused with 429 BUSY.",
            0...1_000_000, .limit(\.limits.scheduledCommands)),
        AgentNumber(
            "command-life",
            "The longest time from a command's arrival to its begin; a later exp is brought down to it.",
            60...2_592_000, unit: "seconds", .limit(\.limits.commandLife)),
        AgentNumber(
            "waiting-bytes",
            "Bytes of the commands that wait or run at the same time; more are refused with 429 BUSY.",
            65_536...4_294_967_296, unit: "bytes", .limit(\.limits.waitingBytes)),
        AgentNumber(
            "running-bytes",
            "Bytes of the commands that run at the same time; decoded they take up to 80 times as much. More wait for their turn. Opens at gates get half.",
            65_536...4_294_967_296, unit: "bytes", .limit(\.limits.runningBytes)),
        AgentNumber(
            "dedupe-keys",
            "Commands whose ids are remembered, so that a repeated one is recognised; more get 429 BUSY.",
            1...10_000_000, .limit(\.limits.dedupeKeys)),
        AgentNumber(
            "attempts",
            "Starts of a command when the agent ends before its result; then it gets 520 INTERRUPTED.",
            1...100, .limit(\.limits.attempts)),
        AgentNumber(
            "commit-entries", "Steps of commands in one commit; 1 is for measuring only.", 1...1_000_000,
            .limit(\.limits.commitEntries)),
        AgentNumber(
            "store-bytes",
            "Bytes that the state file may hold; beyond it new commands and maps get 503 DISK.",
            1_048_576...1_099_511_627_776, unit: "bytes", .limit(\.limits.storeBytes)),
        AgentNumber(
            "log-rate", "Log events per second, on average, that are published; 0 is no limit.",
            0...1_000_000, .limit(\.limits.logRate)),
        AgentNumber(
            "log-burst", "Log events that are published at once.", 1...1_000_000, .limit(\.limits.logBurst)),
        AgentNumber(
            "log-ring", "Recent log events kept in memory for replay.", 1...1_000_000,
            .limit(\.limits.logRing)),
        AgentNumber(
            "log-pending", "Log events that wait while the broker is away; the least important are dropped.",
            1...1_000_000, .limit(\.limits.logPending)),
        AgentNumber(
            "watched-failures",
            "Failures watched for repetitions, which are counted and not reported one by one.", 0...1_000_000,
            .limit(\.limits.watchedFailures)),
        AgentNumber(
            "outbox-records",
            "Failure reports that wait on disk for the broker; more are counted, and commands get 503 OUTBOX.",
            1...1_000_000, .limit(\.limits.outboxRecords)),
        AgentNumber(
            "outbox-bytes", "Bytes of failure reports that wait on disk for the broker.",
            4_096...4_294_967_296, unit: "bytes", .limit(\.limits.outboxBytes)),
        AgentNumber(
            "outbox-memory-bytes",
            "Bytes of stored messages that are in memory too; the others wait on disk.",
            65_536...4_294_967_296, unit: "bytes", .limit(\.limits.outboxMemoryBytes)),
        AgentNumber(
            "volatile-bytes",
            "Bytes of waiting messages that are not stored, such as events; more are dropped.",
            65_536...4_294_967_296, unit: "bytes", .limit(\.limits.volatileBytes)),
        AgentNumber(
            "in-flight", "Messages that are sent and not yet acknowledged by the broker.", 1...65_535,
            .limit(\.limits.inFlight)),
    ]
}
