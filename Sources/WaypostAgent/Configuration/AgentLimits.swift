public import Waypost
import WaypostMessages

/// Every limit of the agent, with its default and its reason; health shows all of them.
///
/// What comes from outside is refused beyond a limit, or dropped and counted; nothing grows without one.
public struct AgentLimits: Sendable, Hashable {
    // MARK: One message

    /// The longest command, in bytes; 65 536 unless set.
    ///
    /// A longer one is refused before it is decoded, with 413 `TOO_LARGE`.
    public var commandBytes = 65_536
    /// The longest map or patch, in bytes; 262 144 unless set.
    public var mapBytes = 262_144
    /// The deepest nesting, most keys and longest string of a payload.
    public var json = JSONLimits.protocolDefaults
    /// The largest packet that is sent, in bytes; 1 048 576 unless set, and the broker's own limit lowers it.
    ///
    /// A result that is larger becomes a 413 reply; the list of routes and batches of events are cut to it.
    public var packetBytes = 1_048_576
    /// What the topic and the properties of a packet may take of it, in bytes.
    static let packetOverhead = 1_024

    /// Bytes of replies, reports and events that the broker has not acknowledged yet, of a larger message one alone; of
    /// one sender ``senderShare`` of them.
    ///
    /// What is in flight stands before everything that comes later, however urgent: this is a second of 1 MB/s.
    static let bytesUnderWay = 1_048_576
    /// The longest MQTT 5 correlation data that is stored and returned, in bytes.
    static let correlationBytes = 256
    /// Failures that are kept for who asks later; of one sender ``senderShare`` of them.
    static let pastFailures = 500
    /// Documents of each layer that are kept beside the one in force, so that a map can be taken back.
    package static let pastMaps = 7
    /// How much of ``storeBytes`` they may take, in per cent.
    static let pastMapsShare = 5

    // MARK: Senders

    /// Messages a second that one sender may send over a longer time; 0 switches the limit off.
    ///
    /// Everything counts, also what can't be read. As much again is looked up, so that a known id is answered, and
    /// what is beyond that is acknowledged and not read.
    public var intakeRate = 50
    /// Messages that one sender may send at once.
    public var intakeBurst = 100
    /// Senders whose rate and `seq` are kept in memory; beyond it those that were silent longest are forgotten.
    public var senders = 1_000
    /// How much of each table one sender may hold, in per cent; 25 unless set, and 100 switches it off.
    ///
    /// It holds for ``dedupeKeys``, ``waitingCommands``, ``waitingBytes``, ``storeBytes`` and the space for failure
    /// reports: a sender that fills its own share keeps no other out.
    public var senderShare = 25

    // MARK: Maps

    /// Maps and patches a second that are read for one layer, and five times as many at once; 0 switches the limit
    /// off.
    ///
    /// Of maps beyond it only the newest is read, as soon as there is time. Patches beyond it are refused with
    /// 429 `BUSY`.
    public var mapRate = 10

    // MARK: Commands

    /// Commands that wait or run at one time, over all lanes; more are refused with 429 `BUSY`.
    public var waitingCommands = 10_000
    /// Commands that came before their time and have not ended; more are refused with 429 `BUSY`.
    ///
    /// One sender may have ``senderShare`` of it.
    public var scheduledCommands = 1_000
    /// How long after its arrival a command may begin at the latest, in seconds: a later `exp` is brought down to it; a day
    /// unless set, and up to 30.
    ///
    /// What is sent while the agent is away reaches it only where the broker keeps its session as long: see
    /// `MQTTLinkConfiguration.sessionExpiry`.
    public var commandLife = 86_400
    /// Bytes of the commands that wait or run at one time; more are refused with 429 `BUSY`.
    ///
    /// That is what they take in memory: a command is decoded when its turn comes.
    public var waitingBytes = 16 * 1024 * 1024
    /// Bytes of the commands that run at one time, those among them that a gate holds too; 1 MiB unless set.
    ///
    /// One sender may have ``senderShare`` of it. More wait until some have ended; a command of up to 1 KiB of a sender of
    /// which nothing runs, and one where nothing runs at all, begins in any case. While it runs a command is decoded, and
    /// takes up to 80 times its bytes in memory.
    ///
    /// Opens that wait at gates may have half of it, and half of a sender's share; more end with 429 `BUSY`. So what
    /// waits for its turn gets it as soon as what runs has ended.
    public var runningBytes = 1024 * 1024
    /// Commands that are remembered, so that a repeated id is recognised; more are refused with 429 `BUSY`.
    public var dedupeKeys = 100_000
    /// Starts of a command when the agent ends each time before its result; then it ends as `interrupted`.
    public var attempts = 3
    /// How long a handler may run.
    public var handlerDeadline = Duration.seconds(10)
    /// Threads for handlers; 64 unless set, and 2 or more.
    ///
    /// Handlers that wait need none. As many as there are cores are used, and more only while handlers block theirs.
    /// When all are blocked, other commands end at their deadline with 408 `DEADLINE`.
    public var handlerThreads = 64
    /// Steps of commands that one commit carries; 1 or more.
    ///
    /// With 1 each step of each command has a commit of its own, which is for measuring only.
    public var commitEntries = 10_000

    // MARK: Log

    /// Log events a second that are published over a longer time; 0 switches the limit off.
    public var logRate = 200
    /// Log events that are published at once.
    public var logBurst = 1_000
    /// Recent log events kept in memory for `replay`.
    public var logRing = 2_000
    /// Log events that wait while the broker is away or slow; beyond it the least important are dropped.
    public var logPending = 1_000
    /// Failures that are watched for repetitions at one time; more are reported one by one.
    public var watchedFailures = 1_000

    // MARK: The store

    /// Bytes that the state file may hold; beyond it new commands and maps are refused with 503 `DISK`.
    ///
    /// Results of what was accepted before have space of their own beyond it: a quarter of it, 16 MiB at least.
    public var storeBytes = 256 * 1024 * 1024

    // MARK: Messages that wait for the broker

    /// Failure reports that wait on disk; more are counted, and new commands refused with 503 `OUTBOX`.
    public var outboxRecords = 10_000
    /// Bytes of failure reports that wait on disk.
    public var outboxBytes = 64 * 1024 * 1024
    /// Bytes of stored messages that are held in memory too; the others are read from disk when it is their turn.
    public var outboxMemoryBytes = 8 * 1024 * 1024
    /// Bytes of messages that are not stored: events, interim replies, refusals; beyond it they are dropped.
    public var volatileBytes = 8 * 1024 * 1024
    /// Messages at QoS 1 that the broker has not acknowledged yet; the broker's receive maximum lowers it.
    public var inFlight = 200

    /// ``commandLife`` in milliseconds.
    var commandLifeMilliseconds: Int64 {
        min(max(0, Int64(clamping: commandLife)), Command.longestLifetime / 1_000) * 1_000
    }

    /// The defaults.
    public init() {}
}

extension Int {
    /// So many per cent of it, and one at least.
    func share(_ percent: Int) -> Int {
        let (whole, rest) = quotientAndRemainder(dividingBy: 100)
        return Swift.max(1, whole * percent + rest * percent / 100)
    }
}
