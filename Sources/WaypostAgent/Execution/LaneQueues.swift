import DequeModule
import Waypost
import WaypostMessages

/// Which command runs next: one after another within a lane, lanes side by side.
///
/// One that an interceptor holds leaves its lane, so that a sender can't stop those behind it; it goes on beside them.
/// That it is held is on disk before the next one runs: what ends the agent then is the next one. So is the end of a
/// command that may have ended the agent before.
///
/// What waits is kept as it came, but for a little (``DecodedSpace``); what runs is decoded, and has a limit.
///
/// Decisions only; the executor acts.
struct LaneQueues: Sendable {
    /// What the executor has to do.
    enum Action: Sendable {
        case run(CommandJob)
        /// It has to be on disk that the command is held; ``LaneQueues/heldCommitted(_:at:)`` follows.
        case commitHeld(CommandJob)
        /// It has to be on disk that the command has ended; ``LaneQueues/endCommitted(_:at:)`` follows.
        case commitEnd(CommandJob)
        /// It has to be on disk that their time has come, one after another; ``LaneQueues/dueCommitted(_:at:_:)`` follows
        /// for each.
        case commitDue([CommandJob])
        /// It has to be on disk that it waits for its time again; ``LaneQueues/putOffCommitted(_:)`` follows.
        case commitPutOff(CommandJob)
        case cancelTask(sequence: Int64)
        case sendAccepted(CommandJob)
        case sendProgress(CommandJob, HandlerProgress)
        /// The command has come to its end without, or after, having run.
        case end(EndedCommand)
    }

    /// How long work may take before the sender learns that it was accepted, in milliseconds.
    static let acceptedAfter: Int64 = 500
    /// How long after one message about how far a command is the next may follow, in milliseconds.
    static let progressPause: Int64 = 1_000

    private struct Running {
        var job: CommandJob
        /// Without the time for which it waited for the disk or for a gate.
        var started: Int64
        /// When it was started for the first time.
        let begun: Int64
        /// Since when it waits for the disk or for a gate; nil when it does not.
        var waitingSince: Int64?
        /// Whether an interceptor lets it wait.
        var isHeld = false
        /// Whether it is, or will be, on disk that it was held.
        var wasHeld = false
        /// Whether a thread has taken it.
        var hasBegun = false
        var isAccepted = false
        var isCanceled = false
        /// How far it is, where its sender does not know that yet, and when it was told last.
        var progress: HandlerProgress?
        var progressSent: Int64?
    }

    /// A lane that a command occupies; there is none without one.
    private struct Lane {
        var occupant: Int64
        var waiting: Deque<CommandJob> = []
    }

    /// How long a handler may run, in milliseconds.
    private let deadline: Int64
    private var lanes: [String: Lane] = [:]
    private var running: [Int64: Running] = [:]
    private var space: RunningSpace
    /// Commands that wait for space while they occupy their lanes, by sender.
    private var pending: [String: Deque<CommandJob>] = [:]
    /// Those whose time is still to come.
    private(set) var scheduled: ScheduledCommands

    /// Commands of lanes that wait or run.
    private(set) var count = 0

    /// - Parameters:
    ///   - deadline: how long a handler may run, in milliseconds.
    ///   - runningBytes: as in ``AgentLimits``.
    ///   - share: of one sender, in per cent.
    ///   - zone: the agent's.
    init(
        deadline: Int64 = 10_000, runningBytes: Int = .max, share: Int = 100,
        zone: @escaping LocalZone.Offset = LocalZone.system
    ) {
        self.deadline = deadline
        scheduled = ScheduledCommands(zone: zone)
        space = RunningSpace(limit: runningBytes, share: share)
    }

    /// Whether no lane has a command.
    var isIdle: Bool { count == 0 }
    /// All without a result.
    var all: Int { count + scheduled.count }

    /// Whether all that is counted waits or runs.
    ///
    /// While there are many lanes, not all are looked at with each step.
    private var isConsistent: Bool {
        guard lanes.count + pending.count <= 16 else { return count >= running.count + pending.count }
        let waiting = lanes.values.reduce(0) { $0 + $1.waiting.count }
        return count == pending.values.reduce(running.count + waiting) { $0 + $1.count }
    }

    // MARK: Running

    mutating func admitted(_ job: CommandJob, at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        guard !job.isScheduled else {
            scheduled.admitted(job)
            // Its sender learns when it begins; after a restart it has.
            return job.header.opening == nil ? [] : [.sendAccepted(job)]
        }
        count += 1
        let lane = job.lane
        guard let place = lanes.index(forKey: lane) else {
            let action = run(job, at: now)
            if action?.hasLeft != true { lanes[lane] = Lane(occupant: job.sequence) }
            return action.map { [$0] } ?? []
        }
        lanes.values[place].waiting.append(job)
        return []
    }

    /// Whether a command that was started is canceled; nil when it has ended, or its time is over.
    func isCanceled(_ sequence: Int64) -> Bool? { running[sequence]?.isCanceled }

    /// A thread has taken a command.
    mutating func began(_ sequence: Int64) {
        defer { assert(isConsistent) }
        guard let index = running.index(forKey: sequence) else { return }
        running.values[index].hasBegun = true
    }

    /// What a command has to do before its handler begins.
    enum Beginning: Sendable {
        case begin
        /// This has to be on disk before; ``LaneQueues/stepCommitted(_:at:)`` follows.
        case commit(InboxStep)
        /// It has ended, or ends with these actions, and must not begin.
        case ended([Action])
    }

    /// A handler is about to begin: the last moment to see that its command was canceled, or that its time is over.
    mutating func handlerBegins(_ sequence: Int64, isIdempotent: Bool, at now: Int64) -> Beginning {
        defer { assert(isConsistent) }
        if let ended = endBeforeBegin(sequence, at: now) { return .ended(ended) }
        guard let entry = running[sequence], !isIdempotent || entry.wasHeld else { return .begin }
        // The time for which it is stored does not count.
        running[sequence]?.waitingSince = now
        return .commit(isIdempotent ? .resumed : .started(attempt: entry.job.attempt))
    }

    /// The step is stored; nil when the handler begins now.
    mutating func stepCommitted(_ sequence: Int64, at now: Int64) -> [Action]? {
        defer { assert(isConsistent) }
        resumeDeadline(of: sequence, at: now)
        return endBeforeBegin(sequence, at: now)
    }

    /// Ends what was cancelled, or whose time is over; nil when a handler may begin.
    private mutating func endBeforeBegin(_ sequence: Int64, at now: Int64) -> [Action]? {
        guard let entry = running[sequence], !entry.isCanceled else { return [] }
        return now < entry.job.startBy ? nil : finished(sequence, .expired, at: now)
    }

    /// An interceptor holds a command, or lets it go on; the time between does not count.
    ///
    /// What is held beyond its space ends.
    mutating func held(_ sequence: Int64, _ isHeld: Bool, at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        guard let index = running.index(forKey: sequence), running.values[index].isHeld != isHeld else {
            return []
        }
        let job = running.values[index].job
        if isHeld, let reason = space.reasonNotToHold(job.payload.count, of: job.sender) {
            return finished(sequence, CommandResult(code: .busy, detail: reason), at: now)
        }
        running.values[index].isHeld = isHeld
        space.held(job.payload.count, of: job.sender, isHeld)
        guard isHeld else {
            resumeDeadline(of: sequence, at: now)
            return endBeforeBegin(sequence, at: now) ?? []
        }
        running.values[index].waitingSince = now
        running.values[index].wasHeld = true
        var actions = [Action.commitHeld(job)]
        runPending(at: now, &actions)
        return actions
    }

    /// It is on disk that a command is held: it leaves its lane, unless it has gone on by now.
    mutating func heldCommitted(_ sequence: Int64, at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        guard let entry = running[sequence], entry.isHeld else { return [] }
        var actions: [Action] = []
        leave(entry.job, at: now, &actions)
        return actions
    }

    /// The commands that interceptors hold.
    var held: [Int64] { running.filter { $0.value.isHeld }.map(\.key) }

    /// A handler says how far it is; the newest that its sender has not heard follows when it may.
    mutating func progressed(_ sequence: Int64, _ progress: HandlerProgress, at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        guard let index = running.index(forKey: sequence) else { return [] }
        running.values[index].progress = progress
        return sendProgress(sequence, at: now).map { [$0] } ?? []
    }

    private mutating func sendProgress(_ sequence: Int64, at now: Int64) -> Action? {
        guard let index = running.index(forKey: sequence), let progress = running.values[index].progress,
            running.values[index].progressSent.map({ now - $0 >= Self.progressPause }) ?? true
        else { return nil }
        running.values[index].progress = nil
        running.values[index].progressSent = now
        return .sendProgress(running.values[index].job, progress)
    }

    private mutating func resumeDeadline(of sequence: Int64, at now: Int64) {
        guard let index = running.index(forKey: sequence), let since = running.values[index].waitingSince
        else { return }
        running.values[index].waitingSince = nil
        running.values[index].started += max(0, now - since)
    }

    mutating func finished(_ sequence: Int64, _ result: CommandResult, at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        guard let entry = removeRunning(sequence) else { return [] }
        let ended = EndedCommand(job: entry.job, result: result, milliseconds: max(0, now - entry.started))
        var actions: [Action] = []
        // It and the next one of its lane.
        actions.reserveCapacity(2)
        actions.append(.end(ended))
        if entry.job.isSuspect {
            actions.append(.commitEnd(entry.job))
        } else {
            leave(entry.job, at: now, &actions)
        }
        runPending(at: now, &actions)
        return actions
    }

    /// It is on disk that a command has ended: what ends the agent now is the next one of its lane.
    mutating func endCommitted(_ job: CommandJob, at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        var actions: [Action] = []
        leave(job, at: now, &actions)
        return actions
    }

    /// What a command does, with times of the monotonic clock; nil when it neither waits nor runs.
    func progress(of sequence: Int64) -> CommandProgress? {
        if let entry = running[sequence] {
            return CommandProgress(
                attempt: entry.job.attempt, runningSince: entry.hasBegun ? entry.begun : nil,
                heldSince: entry.isHeld ? entry.waitingSince : nil)
        }
        for lane in lanes.values {
            guard let place = lane.waiting.firstIndex(where: { $0.sequence == sequence }) else { continue }
            return CommandProgress(
                attempt: lane.waiting[place].attempt, ahead: place + 1)
        }
        if let (job, due) = scheduled.due(sequence) {
            return CommandProgress(attempt: job.attempt, due: due)
        }
        return pending.values.lazy.flatMap(\.self).first { $0.sequence == sequence }.map {
            CommandProgress(attempt: $0.attempt)
        }
    }

    private mutating func removeRunning(_ sequence: Int64) -> Running? {
        guard let entry = running.removeValue(forKey: sequence) else { return nil }
        count -= 1
        space.ended(entry.job.payload.count, of: entry.job.sender, isHeld: entry.isHeld)
        return entry
    }

    /// A command leaves its lane to the next one, unless it had left it before.
    private mutating func leave(_ job: CommandJob, at now: Int64, _ actions: inout [Action]) {
        guard let place = lanes.index(forKey: job.lane),
            lanes.values[place].occupant == job.sequence
        else { return }
        while let next = lanes.values[place].waiting.popFirst() {
            let action = run(next, at: now)
            if let action { actions.append(action) }
            if action?.hasLeft == true { continue }
            lanes.values[place].occupant = next.sequence
            return
        }
        lanes.remove(at: place)
    }

    /// A command could not be started, because the agent stops: it stays on disk for the next start.
    mutating func leftOnDisk(_ sequence: Int64) {
        defer { assert(isConsistent) }
        _ = removeRunning(sequence)
    }

    /// Starts a command, or takes out one whose time is over; nil when it waits for space.
    ///
    /// The window says when it begins: what an interceptor or a gate holds then goes on as long as it has not expired.
    private mutating func run(_ job: CommandJob, at now: Int64) -> Action? {
        guard now < job.turnBy else { return timeIsOver(for: job, at: now) }
        // In order of arrival, as far as they are of one sender.
        guard pending[job.sender] == nil, space.fits(job.payload.count, of: job.sender) else {
            pending[job.sender, default: []].append(job)
            return nil
        }
        return begin(job, at: now)
    }

    private mutating func begin(_ job: CommandJob, at now: Int64) -> Action {
        running[job.sequence] = Running(job: job, started: now, begun: now)
        space.began(job.payload.count, of: job.sender)
        return .run(job)
    }

    /// Starts those that waited for space and find it now, the oldest first.
    private mutating func runPending(at now: Int64, _ actions: inout [Action]) {
        while !pending.isEmpty {
            let first = pending.values.compactMap(\.first).filter {
                space.fits($0.payload.count, of: $0.sender)
            }
            .min { $0.sequence < $1.sequence }
            guard let job = first else { return }
            removePending(of: job.sender) { $0.sequence == job.sequence }
            actions.append(begin(job, at: now))
        }
    }

    /// Takes out those of a sender that wait for space.
    @discardableResult
    private mutating func removePending(
        of sender: String, where isOne: (CommandJob) -> Bool
    ) -> [CommandJob] {
        guard let jobs = pending.removeValue(forKey: sender) else { return [] }
        let rest = jobs.filter { !isOne($0) }
        if !rest.isEmpty { pending[sender] = rest }
        return Array(jobs.filter(isOne))
    }

    /// A command did not get its turn in time: it has expired, or waits for its window to open again.
    private mutating func timeIsOver(for job: CommandJob, at now: Int64) -> Action {
        count -= 1
        guard now < job.startBy else { return .end(EndedCommand(job: job, result: .expired)) }
        scheduled.putOff(job)
        return .commitPutOff(job)
    }

    // MARK: Commands that wait for their time

    /// The wall clock is at `now`, and can be trusted.
    mutating func timeCame(at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        let (due, expired) = scheduled.timeCame(at: now)
        return expired.map { .end(EndedCommand(job: $0, result: .notOpen)) }
            + (due.isEmpty ? [] : [.commitDue(due)])
    }

    /// It is on disk that a command's time has come: it is one of its lane, unless its window has closed by now.
    mutating func dueCommitted(_ sequence: Int64, at now: Int64, _ monotonic: Int64) -> [Action] {
        defer { assert(isConsistent) }
        guard let (job, isOpen) = scheduled.dueCommitted(sequence, at: now, monotonic) else { return [] }
        guard isOpen else {
            scheduled.putOff(job)
            return [.commitPutOff(job)]
        }
        return admitted(job, at: monotonic)
    }

    /// It is on disk that a command waits for its time again.
    mutating func putOffCommitted(_ sequence: Int64) { scheduled.putOffCommitted(sequence) }

    // MARK: Canceling

    /// What canceling found.
    enum Cancellation: Sendable, Equatable {
        case waiting, running, unknown
        case foreign
    }

    /// Carries out a cancel at once: in a lane it would wait behind the command that it cancels.
    mutating func cancel(_ target: String, for job: CommandJob, at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        let (found, further) = cancel(id: target, by: job.sender, at: now)
        let result: CommandResult =
            switch found {
            case .waiting: .ok(["target": .string(target), "was": "waiting"])
            case .running: .ok(["target": .string(target), "was": "running"])
            case .foreign:
                CommandResult(
                    code: .notAllowed, detail: "command \(target) is another sender's", origin: .intake)
            case .unknown:
                CommandResult(
                    code: .noCommand, detail: "no command \(target) of this sender is waiting or running",
                    origin: .intake)
            }
        return further + [.end(EndedCommand(job: job, result: result))]
    }

    mutating func cancel(id: String, by sender: String, at now: Int64) -> (Cancellation, [Action]) {
        defer { assert(isConsistent) }
        if let sequence = running.first(where: {
            $0.value.job.id == id && $0.value.job.sender == sender
        })?.key {
            running[sequence]?.isCanceled = true
            return (.running, [.cancelTask(sequence: sequence)])
        }
        for place in lanes.indices {
            let isIt = { (job: CommandJob) in job.id == id && job.sender == sender }
            guard let index = lanes.values[place].waiting.firstIndex(where: isIt) else { continue }
            let job = lanes.values[place].waiting.remove(at: index)
            return (.waiting, [canceledWaiting(job)])
        }
        if let job = removePending(of: sender, where: { $0.id == id }).first {
            var actions = [canceledWaiting(job)]
            leave(job, at: now, &actions)
            runPending(at: now, &actions)
            return (.waiting, actions)
        }
        if let job = scheduled.cancel(id: id, by: sender) {
            return (.waiting, [.end(EndedCommand(job: job, result: .canceledWaiting))])
        }
        let isForeign =
            scheduled.contains(id: id) || running.values.contains { $0.job.id == id }
            || lanes.values.contains { $0.waiting.contains { $0.id == id } }
            || pending.values.contains { $0.contains { $0.id == id } }
        return (isForeign ? .foreign : .unknown, [])
    }

    private mutating func canceledWaiting(_ job: CommandJob) -> Action {
        count -= 1
        return .end(EndedCommand(job: job, result: .canceledWaiting))
    }

    // MARK: Time

    /// Checks times: work that takes long is announced, work that waited too long is ended.
    mutating func ticked(at now: Int64) -> [Action] {
        defer { assert(isConsistent) }
        var actions: [Action] = []
        for (sequence, entry) in running
        where entry.waitingSince == nil && now - entry.started >= deadline {
            // Whether it stops when it is cancelled or not, its lane goes on.
            actions.append(.cancelTask(sequence: sequence))
            let result: CommandResult =
                entry.isCanceled
                ? .canceled : entry.hasBegun ? .late(after: deadline) : .notBegun(within: deadline)
            actions += finished(sequence, result, at: now)
        }
        for (sequence, entry) in running
        where (entry.waitingSince == nil || entry.isHeld) && !entry.isAccepted
            && now - entry.started >= Self.acceptedAfter
        {
            running[sequence]?.isAccepted = true
            actions.append(.sendAccepted(entry.job))
        }
        for (sequence, entry) in running where entry.progress != nil {
            if let action = sendProgress(sequence, at: now) { actions.append(action) }
        }
        for (name, lane) in lanes where lane.waiting.contains(where: { now >= $0.turnBy }) {
            for job in lane.waiting where now >= job.turnBy {
                actions.append(timeIsOver(for: job, at: now))
            }
            lanes[name]?.waiting.removeAll { now >= $0.turnBy }
        }
        for sender in pending.keys {
            for job in removePending(of: sender, where: { now >= $0.turnBy }) {
                actions.append(timeIsOver(for: job, at: now))
                leave(job, at: now, &actions)
            }
        }
        runPending(at: now, &actions)
        return actions
    }

    /// Drops everything that waits, because the agent stops; it is on disk and runs at the next start.
    mutating func stopped() {
        defer { assert(isConsistent) }
        for place in lanes.indices {
            count -= lanes.values[place].waiting.count
            lanes.values[place].waiting = []
        }
        count -= pending.values.reduce(0) { $0 + $1.count }
        pending = [:]
        scheduled.stopped()
    }

    /// Gives up the space for more than there are now.
    mutating func releaseMemory() {
        defer { assert(isConsistent) }
        if lanes.isEmpty { lanes = [:] }
        if running.isEmpty { running = [:] }
        space.releaseMemory()
    }
}

extension LaneQueues.Action {
    /// Whether the command has left its lane without having run.
    fileprivate var hasLeft: Bool {
        switch self {
        case .end, .commitPutOff: true
        case .run, .commitHeld, .commitEnd, .commitDue, .cancelTask, .sendAccepted, .sendProgress: false
        }
    }
}
