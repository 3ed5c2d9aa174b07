public import Waypost

/// Every bound of the agent, with its default; all of them stand in health.
public struct AgentLimits: Sendable, Hashable {
    /// The longest command, in bytes.
    ///
    /// A longer one is refused before it is decoded, with 413 `TOO_LARGE`.
    public var commandBytes = 65_536
    /// The longest map or patch, in bytes.
    public var mapBytes = 262_144
    /// The deepest nesting, most keys and longest string of a payload.
    public var json = JSONLimits.protocolDefaults
    /// Commands a second that one sender may send for long; 0 switches the limit off.
    public var intakeRate = 50
    /// Commands that one sender may send at once.
    public var intakeBurst = 100
    /// Commands that wait or run at one time, over all lanes; more are refused with 429 `BUSY`.
    public var waitingCommands = 10_000
    /// Commands that are remembered, so that a repeated id is recognised; more are refused with 429 `BUSY`.
    public var dedupeKeys = 100_000
    /// Commands, or steps of commands, that one commit carries; 1 or more.
    ///
    /// With 1 each step of each command waits for the disk by itself, which is for measuring only.
    public var commitEntries = 10_000
    /// Log events a second that are published for long.
    public var logRate = 200
    /// Log events that are published at once.
    public var logBurst = 1_000
    /// Recent log events kept for `replay`.
    public var logRing = 2_000
    /// Failure reports that wait for the broker.
    public var outboxRecords = 10_000
    /// Bytes of failure reports that wait for the broker.
    public var outboxBytes = 64 * 1024 * 1024
    /// Messages at QoS 1 that the broker has not acknowledged yet; the broker's receive maximum lowers it.
    public var inFlight = 200
    /// How long a handler may run.
    public var handlerDeadline = Duration.seconds(10)

    /// The defaults.
    public init() {}
}
