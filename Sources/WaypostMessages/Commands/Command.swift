package import Waypost

/// One command, decoded and checked, but not yet admitted.
package struct Command: Sendable, Hashable {
    /// What the command asks for.
    package enum Operation: Sendable, Hashable {
        case open(url: String, parameters: [String: JSONValue])
        case call(service: String, method: String, arguments: Arguments)
        case navigate(NavigationMove)
        case cancel(target: String)
        case failures(FailureRequest)
        /// How a command of a sender went; of all that have not ended where none is named.
        case inspect(target: String?, sender: String?)
        case log(level: LogLevel, tag: String?, milliseconds: Int64)
        case maps(MapsRequest)
        case replay(Replay)
        case resolve(ResolveRequest)
        /// The answer is delayed by the agent's part of so many milliseconds.
        case ping(spread: Int64 = 0)
    }

    /// The arguments of a call: by position or by label.
    package enum Arguments: Sendable, Hashable {
        case positional([JSONValue])
        case labeled([String: JSONValue])
    }

    /// The lane of commands that name none.
    package static let defaultLane = "main"
    /// How long a command without `exp` may wait, in milliseconds.
    package static let defaultLifetime: Int64 = 60_000
    /// How long a command is kept at most where the agent does not set `command-life`, in milliseconds from the arrival; a
    /// later `exp` and a longer `ttl` are brought down to it.
    package static let maximumLifetime: Int64 = 24 * 3_600_000
    /// The longest that can be set, and the longest `ttl`, in milliseconds.
    package static let longestLifetime: Int64 = 30 * 24 * 3_600_000
    /// How long after its `exp` an agent recognises a command that comes again, at least, in milliseconds.
    package static let recognitionAfterExpiry: Int64 = 5 * 60_000
    /// The longest time for which a `log` command changes what is published, in milliseconds.
    package static let maximumLogDuration: Int64 = 3_600_000
    /// The most events that one `replay` publishes again, or has in its reply.
    package static let maximumReplay = 500
    /// The most failures in the answer to one `failures`.
    package static let maximumFailures = 100
    /// The longest time over which the answers to a `ping` are spread, in milliseconds.
    package static let maximumSpread: Int64 = 60_000

    package var id: String
    package var operation: Operation
    /// The sender's clock, in milliseconds since 1970.
    package var at: Int64?
    /// When the command must have been started, in milliseconds since 1970.
    package var expires: Int64
    /// Whether the sender gave the time, so that it can only be judged by a correct clock.
    package var hasAbsoluteExpiry: Bool
    /// How long after its arrival it may still start, in milliseconds; nil when the sender gave a time, or nothing.
    var timeToLive: Int64?
    package var lane: String
    /// When it may begin; nil for at once.
    package var schedule: CommandSchedule?
    /// Which clients it is for, as the `when` of a map says it; nil for all.
    package var when: JSONValue?
    /// Rises per sender; nil when the sender does not count.
    package var sequence: Int64?
    /// A valid W3C `traceparent`.
    package var trace: String?
    /// A valid W3C `tracestate`; only beside a trace.
    package var traceState: String?
    /// Probable mistakes in an accepted command; for people.
    package var warnings: [String] = []

    package init(
        id: String, operation: Operation, at: Int64? = nil, expires: Int64,
        hasAbsoluteExpiry: Bool = true, timeToLive: Int64? = nil,
        lane: String = Command.defaultLane, schedule: CommandSchedule? = nil, when: JSONValue? = nil,
        sequence: Int64? = nil, trace: String? = nil
    ) {
        self.id = id
        self.operation = operation
        self.at = at
        self.expires = expires
        self.hasAbsoluteExpiry = hasAbsoluteExpiry
        self.timeToLive = timeToLive
        self.lane = lane
        self.schedule = schedule
        self.when = when
        self.sequence = sequence
        self.trace = trace
    }
}
