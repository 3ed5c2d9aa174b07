import DequeModule
import Waypost
import WaypostMessages

/// Which command runs next: one after another within a lane, lanes side by side.
///
/// Decisions only; the dispatcher acts.
struct Lanes: Sendable {
    /// What the dispatcher has to do.
    enum Action: Sendable {
        /// Make STARTED durable, then call ``startStored(_:)``.
        case storeStart(Work)
        case run(Work)
        case cancelTask(sequence: Int64)
        case sendAccepted(Work)
        /// The command has come to its end without, or after, having run.
        case end(Work, Verdict, milliseconds: Int64)
    }

    /// How long work may take before the sender is told that it was accepted, in milliseconds.
    static let acceptedAfter: Int64 = 500

    private let deadline: Int64

    private struct Running {
        var work: Work
        var started: Int64
        var isStored: Bool
        var isAccepted = false
        var isCanceled = false
    }

    private var waiting: [String: Deque<Work>] = [:]
    private var occupied: [String: Int64] = [:]
    private var running: [Int64: Running] = [:]

    /// Commands that wait or run.
    private(set) var count = 0

    /// - Parameter deadline: how long a handler may run, in milliseconds.
    init(deadline: Int64 = 10_000) { self.deadline = deadline }

    var isIdle: Bool { count == 0 }
    var hasRunning: Bool { !running.isEmpty }

    /// Whether a command that was to run is canceled, or ended, by now.
    func mustStop(_ sequence: Int64) -> Bool { running[sequence]?.isCanceled ?? true }

    mutating func admitted(_ work: Work, at now: Int64) -> [Action] {
        count += 1
        waiting[work.command.lane, default: []].append(work)
        return occupied[work.command.lane] == nil ? next(in: work.command.lane, at: now) : []
    }

    mutating func startStored(_ sequence: Int64, at now: Int64) -> [Action] {
        guard var entry = running[sequence] else { return [] }
        if entry.isCanceled {
            return finished(sequence, Verdict(code: .canceled, detail: "canceled before it ran"), at: now)
        }
        entry.isStored = true
        entry.started = now
        running[sequence] = entry
        return [.run(entry.work)]
    }

    mutating func finished(_ sequence: Int64, _ verdict: Verdict, at now: Int64) -> [Action] {
        guard let entry = running.removeValue(forKey: sequence) else { return [] }
        count -= 1
        occupied[entry.work.command.lane] = nil
        return [.end(entry.work, verdict, milliseconds: max(0, now - entry.started))]
            + next(in: entry.work.command.lane, at: now)
    }

    /// What cancelling found.
    enum Cancellation: Sendable, Equatable {
        case waiting, running, unknown
        case foreign
    }

    mutating func cancel(id: String, by sender: String, at now: Int64) -> (Cancellation, [Action]) {
        if let (sequence, entry) = running.first(where: {
            $0.value.work.command.id == id && $0.value.work.sender == sender
        }) {
            running[sequence]?.isCanceled = true
            return (.running, entry.isStored ? [.cancelTask(sequence: sequence)] : [])
        }
        for (lane, queue) in waiting {
            guard let index = queue.firstIndex(where: { $0.command.id == id && $0.sender == sender }) else {
                continue
            }
            let work = queue[index]
            waiting[lane]?.remove(at: index)
            count -= 1
            return (
                .waiting,
                [.end(work, Verdict(code: .canceled, detail: "canceled while it waited"), milliseconds: 0)]
            )
        }
        let isForeign =
            running.values.contains { $0.work.command.id == id }
            || waiting.values.contains { $0.contains { $0.command.id == id } }
        return (isForeign ? .foreign : .unknown, [])
    }

    /// Looks after time: work that takes long is announced, work that waited too long is ended.
    mutating func ticked(at now: Int64) -> [Action] {
        var actions: [Action] = []
        for (sequence, entry) in running where entry.isStored && now - entry.started >= deadline {
            // Whether it heeds the cancellation or not, its lane goes on.
            actions.append(.cancelTask(sequence: sequence))
            actions += finished(sequence, entry.isCanceled ? .canceled : .late(after: deadline), at: now)
        }
        for (sequence, entry) in running
        where entry.isStored && !entry.isAccepted && now - entry.started >= Self.acceptedAfter {
            running[sequence]?.isAccepted = true
            actions.append(.sendAccepted(entry.work))
        }
        for (lane, queue) in waiting where queue.contains(where: { now >= $0.startBy }) {
            for work in queue where now >= work.startBy { actions.append(expire(work)) }
            waiting[lane] = queue.filter { now < $0.startBy }
        }
        return actions
    }

    /// Ends everything that waits, for the agent stops; it is on disk and runs at the next start.
    ///
    /// - Returns: how many were waiting.
    mutating func stopped() -> Int {
        let waited = waiting.values.reduce(0) { $0 + $1.count }
        count -= waited
        waiting = [:]
        return waited
    }

    private mutating func next(in lane: String, at now: Int64) -> [Action] {
        var actions: [Action] = []
        while let work = waiting[lane]?.popFirst() {
            guard now < work.startBy else {
                actions.append(expire(work))
                continue
            }
            occupied[lane] = work.sequence
            running[work.sequence] = Running(work: work, started: now, isStored: work.isIdempotent)
            // An idempotent command would run again after a crash whether STARTED is stored or not.
            actions.append(work.isIdempotent ? .run(work) : .storeStart(work))
            return actions
        }
        waiting[lane] = nil
        return actions
    }

    private mutating func expire(_ work: Work) -> Action {
        count -= 1
        return .end(work, .expired, milliseconds: 0)
    }
}
