import Waypost
import WaypostMessages

/// Commands that wait for the time at which they may begin; they are on disk as scheduled.
///
/// The wall clock decides, and while it can't be trusted nothing begins and nothing expires. That a command's time has come
/// is on disk before the command is one of its lane, so that a start on disk tells which of many may have ended the agent;
/// those whose time has come together are handed on one after another.
///
/// Decisions only; the executor acts.
struct ScheduledCommands: Sendable {
    private enum Stage: Sendable {
        /// It is not on disk yet that it waits again.
        case storing
        case waiting
        /// Its time has come, and that is being stored.
        case beginning
    }

    private struct Entry: Sendable {
        var job: CommandJob
        var stage: Stage
        /// When it begins, in milliseconds since 1970; nil before that was looked for.
        var due: Int64?
    }

    /// How long nothing is looked at, at most, in milliseconds: the clock may be set meanwhile.
    private static let longestPause: Int64 = 10_000
    private static let shortestPause: Int64 = 20

    private let zone: LocalZone.Offset
    private var entries: [Int64: Entry] = [:]

    init(zone: @escaping LocalZone.Offset = LocalZone.system) { self.zone = zone }

    var count: Int { entries.count }

    /// When the next one begins, in milliseconds since 1970; nil when that is not known, or none waits.
    var next: Int64? { entries.values.compactMap(\.due).min() }

    /// A command came whose time is still to come, or waited for it at the end of the run before.
    mutating func admitted(_ job: CommandJob) { insert(job, .waiting, due: job.header.opening?.lowerBound) }

    /// The window of a command closed before its turn came: it waits for the next one.
    mutating func putOff(_ job: CommandJob) { insert(job, .storing, due: nil) }

    /// It is on disk that a command waits again.
    mutating func putOffCommitted(_ sequence: Int64) {
        if entries[sequence]?.stage == .storing { entries[sequence]?.stage = .waiting }
    }

    private mutating func insert(_ job: CommandJob, _ stage: Stage, due: Int64?) {
        assert(entries[job.sequence] == nil)
        entries[job.sequence] = Entry(job: job, stage: stage, due: due)
    }

    private mutating func remove(_ sequence: Int64) -> CommandJob? {
        entries.removeValue(forKey: sequence)?.job
    }

    // MARK: Time

    /// Looks at the wall clock: those whose time has come, in their order, and those that have expired.
    mutating func timeCame(at now: Int64) -> (due: [CommandJob], expired: [CommandJob]) {
        var (due, expired): ([CommandJob], [CommandJob]) = ([], [])
        let isBusy = entries.values.contains { $0.stage == .beginning }
        for (sequence, entry) in entries where entry.stage == .waiting {
            guard let opening = opening(of: entry.job, at: now) else {
                expired.append(entry.job)
                continue
            }
            entries[sequence]?.due = opening.lowerBound
            if opening.lowerBound <= now, !isBusy { due.append(entry.job) }
        }
        for job in expired { _ = remove(job.sequence) }
        for job in due { entries[job.sequence]?.stage = .beginning }
        return (
            due.sorted { ($0.after, $0.sequence) < ($1.after, $1.sequence) },
            expired.sorted { $0.sequence < $1.sequence }
        )
    }

    private func opening(of job: CommandJob, at now: Int64) -> Range<Int64>? {
        guard let schedule = job.header.schedule else { return now..<Int64.max }
        return schedule.opening(from: now, until: job.header.expires, zone)
    }

    /// It is on disk that a command's time has come: its job in its lane, or nil when it has ended or must wait again, which
    /// ``putOff(_:)`` follows.
    ///
    /// - Parameters:
    ///   - now: The wall clock.
    ///   - monotonic: The same moment on the monotonic clock.
    mutating func dueCommitted(_ sequence: Int64, at now: Int64, _ monotonic: Int64)
        -> (job: CommandJob, isOpen: Bool)?
    {
        guard let job = remove(sequence) else { return nil }
        guard let opening = opening(of: job, at: now), opening.lowerBound <= now else { return (job, false) }
        let startBy = monotonic.adding(clamping: job.header.expires.subtracting(clamping: now))
        let turnBy = monotonic.adding(clamping: opening.upperBound.subtracting(clamping: now))
        return (job.due(startBy: startBy, turnBy: turnBy), true)
    }

    /// How long to wait before the next look, in milliseconds; nil when nothing waits.
    func pause(at now: Int64, isClockCorrect: Bool) -> Int64? {
        guard !entries.isEmpty else { return nil }
        let waiting = entries.values.filter { $0.stage == .waiting }
        // A look follows what is being stored.
        guard isClockCorrect, waiting.count == entries.count else { return Self.longestPause }
        let due = waiting.map { $0.due ?? now }.min() ?? now
        return min(max(due.subtracting(clamping: now), Self.shortestPause), Self.longestPause)
    }

    // MARK: Asked by others

    /// When a command begins, where it waits for its time.
    func due(_ sequence: Int64) -> (job: CommandJob, due: Int64?)? {
        entries[sequence].map { ($0.job, $0.due) }
    }

    /// Takes out the command of a sender.
    mutating func cancel(id: String, by sender: String) -> CommandJob? {
        guard let entry = entries.values.first(where: { $0.job.id == id && $0.job.sender == sender }) else {
            return nil
        }
        return remove(entry.job.sequence)
    }

    func contains(id: String) -> Bool { entries.values.contains { $0.job.id == id } }

    /// Drops all, because the agent stops; they are on disk, and wait again after the next start.
    mutating func stopped() { entries = [:] }
}

extension CommandJob {
    /// Not before this, in milliseconds since 1970.
    fileprivate var after: Int64 { header.schedule?.after ?? 0 }
}
