import Waypost
import WaypostMessages

/// Runs admitted commands: ``Lanes`` decides behind a lock, and whoever brought the news acts on the decision.
///
/// It never waits for a handler or for the disk. The task that ran a command goes on with the next of its lane:
/// a change of thread for each would cost more than most commands do.
final class Dispatcher: Sendable {
    private struct State {
        var lanes: Lanes
        var tasks: [Int64: Task<Void, Never>] = [:]
        var isTicking = false
        var isStopping = false
    }

    /// How often time is looked after while there are commands, in milliseconds.
    private static let tick = 100
    /// Commands that one task runs before others get their turn on its thread.
    private static let commandsPerTurn = 32

    private let state: Guarded<State>
    /// Closed when nothing runs any more.
    private let ended = Mailbox<Never>()
    private let runner: CommandRunner
    private let journal: Journal
    private let clock: AgentClock
    private let health: HealthMonitor

    init(
        runner: CommandRunner, journal: Journal, health: HealthMonitor, clock: AgentClock, deadline: Duration
    ) {
        state = Guarded(State(lanes: Lanes(deadline: deadline.milliseconds)))
        self.runner = runner
        self.journal = journal
        self.health = health
        self.clock = clock
    }

    /// Takes stored commands, in order of arrival.
    func admitted(_ work: [Work]) {
        guard !work.isEmpty else { return }
        health.commandsAdmitted(work.count)
        let now = clock.monotonic()
        // What waits in no lane must be in time all the same.
        let atOnce = work.map { work -> Verdict? in
            guard now < work.startBy else { return .expired }
            return runner.runAtOnce(work)
        }
        let actions = state.withLock { state -> [Lanes.Action] in
            if state.isStopping {
                health.commandsLeft(work.count)
                return []
            }
            var actions: [Lanes.Action] = []
            for (work, verdict) in zip(work, atOnce) {
                if let verdict {
                    actions.append(.end(work, verdict, milliseconds: 0))
                } else if case .cancel(let target) = work.command.operation {
                    actions += Self.cancel(target, for: work, &state.lanes, at: now)
                } else {
                    actions += state.lanes.admitted(work, at: now)
                }
            }
            return actions
        }
        act(on: actions)
        tickWhileBusy()
    }

    /// Ends ``run()`` once what runs has ended; what waits stays on disk for the next start.
    func stop() {
        let isIdle = state.withLock { state in
            state.isStopping = true
            health.commandsLeft(state.lanes.stopped())
            return state.lanes.isIdle
        }
        if isIdle { ended.close() }
    }

    /// Returns after ``stop()`` and the end of the last command that runs.
    func run() async { _ = await ended.next() }

    /// Commands about other commands run at once, for in a lane they would wait behind what they are about.
    private static func cancel(
        _ target: String, for work: Work, _ lanes: inout Lanes, at now: Int64
    ) -> [Lanes.Action] {
        let (found, further) = lanes.cancel(id: target, by: work.sender, at: now)
        let verdict: Verdict =
            switch found {
            case .waiting: .ok(["target": .string(target), "was": "waiting"])
            case .running: .ok(["target": .string(target), "was": "running"])
            case .foreign:
                Verdict(code: .notAllowed, detail: "command \(target) is another sender's", room: .intake)
            case .unknown: .ok(["target": .string(target), "was": "ended or unknown"])
            }
        return further + [.end(work, verdict, milliseconds: 0)]
    }

    private func act(on actions: [Lanes.Action]) {
        for action in actions {
            switch action {
            case .storeStart(let work):
                journal.append(
                    .started(sequence: work.sequence, attempt: work.attempts + 1) { [self] in
                        startStored(work.sequence)
                    })
            case .run(let work): start(work)
            case .cancelTask(let sequence):
                state.withLock { $0.tasks[sequence] }?.cancel()
            case .sendAccepted(let work):
                journal.sendAccepted(work, at: clock.wall())
            case .end(let work, let verdict, let milliseconds):
                health.commandsLeft(1)
                journal.end(work, verdict, milliseconds: milliseconds, at: clock.wall())
            }
        }
    }

    private func startStored(_ sequence: Int64) {
        let now = clock.monotonic()
        act(on: state.withLock { $0.lanes.startStored(sequence, at: now) })
        closeWhenDone()
    }

    private func start(_ work: Work) {
        // Under the lock, so that the task can't have ended before it is known.
        state.withLock { state in
            let task = Task { await runLane(from: work) }
            state.tasks[work.sequence] = task
            // It was decided a moment ago that this runs, and a cancellation since then found no task.
            if state.lanes.mustStop(work.sequence) { task.cancel() }
        }
    }

    /// Runs a command and those after it in its lane, up to one that has to wait for the disk.
    private func runLane(from first: Work) async {
        var next: Work? = first
        var turn = 0
        while let work = next {
            let verdict = await runner.run(work)
            FaultPoint.afterHandler.reached()
            next = finished(work, verdict)
            turn += 1
            if turn % Self.commandsPerTurn == 0 { await Task.yield() }
        }
        closeWhenDone()
    }

    /// Ends a command; returns the next of its lane when the same task may run it.
    private func finished(_ work: Work, _ verdict: Verdict) -> Work? {
        let now = clock.monotonic()
        var next: Work?
        let actions = state.withLock { state -> [Lanes.Action] in
            let task = state.tasks.removeValue(forKey: work.sequence)
            var actions = state.lanes.finished(work.sequence, verdict, at: now)
            // A cancelled task would cancel what it runs next; that gets one of its own. No cancellation can
            // come later, since the task is not known by the old command's number any more.
            if case .run(let following)? = actions.last, let task, !task.isCancelled {
                actions.removeLast()
                state.tasks[following.sequence] = task
                next = following
            }
            return actions
        }
        act(on: actions)
        return next
    }

    // MARK: Time

    private func tickWhileBusy() {
        let mustStart = state.withLock { state in
            guard !state.isTicking, !state.lanes.isIdle else { return false }
            state.isTicking = true
            return true
        }
        guard mustStart else { return }
        Task {
            repeat { try? await Task.sleep(for: .milliseconds(Self.tick)) } while ticked()
        }
    }

    /// Looks after time; false when there is nothing left to look after.
    private func ticked() -> Bool {
        let now = clock.monotonic()
        let (actions, goesOn) = state.withLock { state in
            let actions = state.lanes.ticked(at: now)
            // One task serves many commands: only a look that finds none ends it.
            state.isTicking = !state.lanes.isIdle
            return (actions, state.isTicking)
        }
        act(on: actions)
        closeWhenDone()
        return goesOn
    }

    private func closeWhenDone() {
        if state.withLock({ $0.isStopping && $0.lanes.isIdle }) { ended.close() }
    }
}
