import Waypost
import WaypostMessages

/// Runs admitted commands: a loop with local state that lets ``Lanes`` decide and acts on it.
///
/// It never waits for a handler or for the disk: both answer through the mailbox.
final class Dispatcher: Sendable {
    private enum Input: Sendable {
        case admitted([Work])
        case startStored(sequence: Int64)
        case finished(sequence: Int64, Verdict)
        case tick
        case stop
    }

    private let mailbox = Mailbox<Input>()
    private let runner: CommandRunner
    private let journal: Journal
    private let clock: AgentClock
    /// How long a handler may run, in milliseconds.
    private let deadline: Int64
    private let health: HealthMonitor

    init(
        runner: CommandRunner, journal: Journal, health: HealthMonitor, clock: AgentClock, deadline: Duration
    ) {
        self.deadline = deadline.milliseconds
        self.runner = runner
        self.journal = journal
        self.health = health
        self.clock = clock
    }

    func admitted(_ work: [Work]) {
        health.commandsAdmitted(work.count)
        mailbox.send(.admitted(work))
    }

    /// Ends the loop once what runs has ended; what waits stays on disk for the next start.
    func stop() { mailbox.send(.stop) }

    /// Handles inputs until ``stop()`` and the end of the last command that runs.
    func run() async {
        var lanes = Lanes(deadline: deadline)
        var tasks: [Int64: Task<Void, Never>] = [:]
        var ticker: Task<Void, Never>?
        var isStopping = false
        while !(isStopping && lanes.isIdle), let batch = await mailbox.next() {
            for input in batch {
                let now = clock.monotonic()
                var actions: [Lanes.Action] = []
                switch input {
                case .admitted(let work):
                    for work in work {
                        if isStopping {
                            health.commandsLeft(1)
                        } else if let verdict = control(work, &lanes, &actions, at: now) {
                            actions.append(.end(work, verdict, milliseconds: 0))
                        } else {
                            actions += lanes.admitted(work, at: now)
                        }
                    }
                case .startStored(let sequence):
                    actions = lanes.startStored(sequence, at: now)
                case .finished(let sequence, let verdict):
                    tasks[sequence] = nil
                    actions = lanes.finished(sequence, verdict, at: now)
                case .tick:
                    actions = lanes.ticked(at: now)
                    // Only a tick that finds nothing to look after ends the ticker: one task serves many commands.
                    if lanes.isIdle {
                        ticker?.cancel()
                        ticker = nil
                    }
                case .stop:
                    isStopping = true
                    health.commandsLeft(lanes.stopped())
                }
                for action in actions { act(on: action, &tasks) }
            }
            if !lanes.isIdle, ticker == nil {
                ticker = Task { await tickUntilCancelled() }
            }
        }
        ticker?.cancel()
    }

    /// Commands about other commands run at once, for in a lane they would wait behind what they are about.
    private func control(
        _ work: Work, _ lanes: inout Lanes, _ actions: inout [Lanes.Action], at now: Int64
    ) -> Verdict? {
        guard case .cancel(let target) = work.command.operation else {
            return runner.runAtOnce(work)
        }
        let (found, further) = lanes.cancel(id: target, by: work.sender, at: now)
        actions += further
        switch found {
        case .waiting: return .ok(["target": .string(target), "was": "waiting"])
        case .running: return .ok(["target": .string(target), "was": "running"])
        case .foreign:
            return Verdict(
                code: .notAllowed, detail: "command \(target) is another sender's", room: .intake)
        case .unknown: return .ok(["target": .string(target), "was": "ended or unknown"])
        }
    }

    private func act(on action: Lanes.Action, _ tasks: inout [Int64: Task<Void, Never>]) {
        switch action {
        case .storeStart(let work):
            let stored = Input.startStored(sequence: work.sequence)
            journal.append(
                .started(sequence: work.sequence, attempt: work.attempts + 1) { [mailbox] in
                    mailbox.send(stored)
                })
        case .run(let work):
            tasks[work.sequence] = Task {
                let verdict = await runner.run(work)
                FaultPoint.afterHandler.reached()
                mailbox.send(.finished(sequence: work.sequence, verdict))
            }
        case .cancelTask(let sequence):
            tasks[sequence]?.cancel()
        case .sendAccepted(let work):
            journal.sendAccepted(work, at: clock.wall())
        case .end(let work, let verdict, let milliseconds):
            health.commandsLeft(1)
            journal.end(work, verdict, milliseconds: milliseconds, at: clock.wall())
        }
    }

    private func tickUntilCancelled() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(100))
            mailbox.send(.tick)
        }
    }
}
