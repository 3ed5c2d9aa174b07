import MQTTLink
import Waypost

/// What intake keeps from one message to the next: decisions only.
///
/// The senders, what was let in and is not acknowledged yet, and what must be stored before it runs.
struct IntakeState: Sendable {
    /// What health shows.
    struct Counters: Sendable {
        var received: Int64 = 0
        var duplicates: Int64 = 0
        var rejected: Int64 = 0
        var badTraces: Int64 = 0
    }

    /// What becomes of a message, before anything of it is read.
    struct Arrival: Sendable {
        var admission: SenderTable.Admission
        /// Whether the command must be on disk before it runs.
        var isStoredFirst = false
        /// Its starts before this delivery.
        var earlierStarts = 0
    }

    private(set) var counters = Counters()
    private var senders: SenderTable
    private var rate: Int
    private var crashGuard = CrashGuard()
    /// What was let in and is not acknowledged yet.
    private var admitted: [(sender: String, SenderTable.Admission)] = []

    init(_ limits: AgentLimits) {
        senders = SenderTable(maximum: limits.senders, rate: limits.intakeRate, burst: limits.intakeBurst)
        rate = limits.intakeRate
    }

    // MARK: Messages

    /// A message came; those on topics without a valid sender, "", count together.
    ///
    /// - Parameter now: on the monotonic clock, as everywhere here.
    mutating func messageCame(_ message: MQTTMessage, from sender: String, at now: Int64) -> Arrival {
        let admission = count(sender, at: now)
        admitted.append((sender, admission))
        return Arrival(
            admission: admission, isStoredFirst: crashGuard.storesFirst(message, at: now),
            earlierStarts: crashGuard.earlierStarts(of: message))
    }

    /// A message was too large to be read, and is acknowledged.
    mutating func messageSkipped(of sender: String, at now: Int64) -> SenderTable.Admission {
        count(sender, at: now)
    }

    private mutating func count(_ sender: String, at now: Int64) -> SenderTable.Admission {
        if !sender.isEmpty { counters.received += 1 }
        return senders.admit(sender, at: now)
    }

    /// A command was not run, or could not be read.
    mutating func rejected() { counters.rejected += 1 }

    /// A command had a `traceparent` that is none.
    mutating func traceIgnored() { counters.badTraces += 1 }

    /// A command came before.
    mutating func repeated() { counters.duplicates += 1 }

    /// What was let in is going to be acknowledged; whether there was any.
    mutating func acknowledged() -> Bool {
        defer { admitted.removeAll(keepingCapacity: true) }
        return !admitted.isEmpty
    }

    /// The broker sends all of it again; a sender must not get BUSY for our full disk.
    mutating func batchRefused() {
        for (sender, admission) in admitted { senders.refund(sender, admission) }
        admitted.removeAll(keepingCapacity: true)
    }

    /// Remembers that `sender` was warned of this; false when it was warned before.
    mutating func noteWarning(_ warning: SenderTable.Warnings, of sender: String, at now: Int64) -> Bool {
        senders.noteWarning(warning, of: sender, at: now)
    }

    /// Takes note of a sender's `seq`; returns the one before when some are missing in between.
    mutating func gap(before sequence: Int64, of sender: String, at now: Int64) -> Int64? {
        senders.gap(before: sequence, of: sender, at: now)
    }

    /// The refusal of a sender that sends too much.
    func busy(_ sender: String, _ admission: SenderTable.Admission) -> Failure {
        let isUnread = admission == .unread
        let end = isUnread ? "; the rest is acknowledged but not read" : ""
        guard !sender.isEmpty else {
            return Failure(
                .busy, "too many messages on unreadable topics (limit \(isUnread ? 2 * rate : rate)/s)\(end)")
        }
        return Failure(
            .busy,
            "\(sender) sends more than \(isUnread ? "twice its " : "")\(rate) messages per second\(end)")
    }

    // MARK: Around them

    /// Other limits are set; all senders may send a whole burst again.
    mutating func limitsChanged(rate: Int, burst: Int, at now: Int64) {
        self.rate = rate
        senders.setLimits(rate: rate, burst: burst, at: now)
    }

    /// The agent stopped cleanly the last time: no command was in flight.
    mutating func endedCleanly() { crashGuard.endedCleanly() }

    mutating func connected(at now: Int64) { crashGuard.connected(at: now) }

    /// Gives up the space for more than there is now.
    mutating func releaseMemory() { if admitted.isEmpty { admitted = [] } }
}
