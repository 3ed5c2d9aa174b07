import Glibc
import Synchronization
import Threading
import Waypost
import WaypostMessages

/// Runs commands: ``LaneQueues`` decides behind a lock, and the caller carries it out.
///
/// It never waits for a handler or for the disk. Handlers run on threads of their own, and those that end soon on the
/// thread that brought the command; times are checked on threads of the agent. The task that ran a command goes on
/// with the next of its lane: a change of thread for each would cost more than most commands do.
final class CommandExecutor: Sendable {
    /// What the executor calls; connected by the agent.
    struct Connections: Sendable {
        /// Commits a step of a command; false when the agent stops before that.
        ///
        /// Only a start is refused: then the command ends with the failure.
        var commit: @Sendable (InboxStep, CommandJob) async throws(Failure) -> Bool
        /// Commits results; `isFree` when the calling thread has nothing else to do.
        var end: @Sendable ([EndedCommand], _ isFree: Bool) -> Void
        /// Returns when all that ended is on disk; false when the agent stops before that.
        var flush: @Sendable () async -> Bool
        /// Commits the results of commands that the calling thread ran for ``handlers``.
        var commitGathered: @Sendable () -> Void
        /// The sender learns that the work will take longer, or when the command begins.
        var accepted: @Sendable (CommandJob) -> Void
        /// The sender learns how far the work is.
        var progressed: @Sendable (CommandJob, HandlerProgress) -> Void
        /// Does the work of a command within its span; nil without a tracer.
        var spans: CommandSpans?
        /// Whether the wall clock can be trusted.
        var isClockCorrect: @Sendable (_ now: Int64) -> Bool
    }

    /// The agent stops before a step of a command could be committed.
    private struct StepNotCommitted: Error {}

    private struct State {
        var queues: LaneQueues
        var tasks: [Int64: Task<Void, Never>] = [:]
        /// Commands without a result that stay for the next start: at a stop those that are held, and those whose
        /// start could not be stored.
        var leftOnDisk: Set<Int64> = []
        /// What must be done for commands that were admitted, and not begun.
        var admitted: [LaneQueues.Action] = []
        /// Answers that wait for their time.
        var later = 0
        var isTicking = false
        /// When it is looked next whose time has come, on the monotonic clock; nil when nothing waits for its time.
        var nextLook: Int64?
        var isStopping = false
    }

    /// How many answers wait for a time of their own.
    ///
    /// Each is a task; one that asks once a second over a whole minute needs no more. What comes beyond is answered at
    /// once.
    private static let mostLater = 64

    /// How often times are checked while there are commands, in milliseconds.
    private static let tick = 100
    /// Commands that one task runs before others get their turn on its thread.
    private static let commandsPerTurn = 32

    private let state: Guarded<State>
    private let count = Atomic<Int>(0)
    /// Closed when nothing runs any more.
    private let ended = OneShotEvent()
    /// Where handlers run.
    let handlers: ThreadPool
    /// Cancelling runs code of handlers, which may block.
    private let cancelling = ThreadPool(name: "wp-cancel", usual: 1, limit: 8)
    private let runner: CommandRunner
    private let clock: AgentClock
    private let connections: Connections

    init(
        runner: CommandRunner, clock: AgentClock, limits: AgentLimits, handlers: ThreadPool,
        connections: Connections
    ) {
        state = Guarded(
            State(
                queues: LaneQueues(
                    deadline: limits.handlerDeadline.milliseconds, runningBytes: limits.runningBytes,
                    share: limits.senderShare, zone: clock.zone)))
        self.handlers = handlers
        self.runner = runner
        self.clock = clock
        self.connections = connections
    }

    /// Commands that wait or run at this moment; intake refuses more than the limit.
    var waiting: Int { count.load(ordering: .relaxed) }

    /// How many of them wait for their time, and when the next one begins, in milliseconds since 1970.
    var scheduled: (count: Int, next: Int64?) {
        state.withLock { ($0.queues.scheduled.count, $0.queues.scheduled.next) }
    }

    /// Answers to pings that wait for their time of the spread.
    var waitingAnswers: Int { state.withLock(\.later) }

    /// What the command of a row does at this moment; nil when it neither waits nor runs.
    func progress(of sequence: Int64) -> CommandProgress? {
        var progress = state.withLock { $0.queues.progress(of: sequence) }
        let difference = clock.wall() - clock.monotonic()
        progress?.runningSince? += difference
        progress?.heldSince? += difference
        return progress
    }

    /// Takes commands that are stored or will be, in order of arrival; ``begin()`` or ``beginHere(adopt:)`` follows.
    func admitted(_ jobs: [CommandJob]) {
        guard !jobs.isEmpty else { return }
        let now = clock.monotonic()
        // What needs no lane must not have expired either.
        let atOnce = jobs.map { job -> CommandResult? in
            if let end = job.end { return end }
            // By the wall clock, once that can be trusted.
            guard !job.isScheduled else { return nil }
            return now < job.startBy ? runner.runAtOnce(job) : .expired
        }
        change { state in
            for (job, result) in zip(jobs, atOnce) {
                // What comes at a stop runs at the next start, unless it ends without being run.
                if state.isStopping, job.end == nil { continue }
                if let result, case .ping(let spread)? = job.operation, spread > 0,
                    state.later < Self.mostLater
                {
                    state.later += 1
                    answerLater(job, result, within: spread)
                } else if let result {
                    state.admitted.append(.end(EndedCommand(job: job, result: result)))
                } else if case .cancel(let target)? = job.operation {
                    state.admitted += state.queues.cancel(target, for: job, at: now)
                } else {
                    state.admitted += state.queues.admitted(job, at: now)
                }
            }
        }
        tickWhileBusy()
        lookLater()
    }

    /// A whole fleet is asked at once: each answers at some time of the spread.
    private func answerLater(_ job: CommandJob, _ result: CommandResult, within spread: Int64) {
        AgentThreads.start { [self] in
            var chance = Chance()
            await AgentThreads.sleep(for: .milliseconds(Int64.random(in: 0..<spread, using: &chance)))
            let isStopping = state.withLock { state in
                state.later -= 1
                return state.isStopping
            }
            guard !isStopping else { return }
            act(on: [.end(EndedCommand(job: job, result: runner.runAtOnce(job) ?? result))])
        }
    }

    /// Begins with what was admitted.
    func begin() { act(on: takeAdmitted()) }

    /// Begins with what was admitted, on the calling thread as far as that goes quickly.
    ///
    /// - Parameter adopt: as in ``ThreadPool/runHere(_:whenIdle:adopt:)``.
    func beginHere(adopt: @escaping @Sendable () -> Bool) {
        let actions = takeAdmitted()
        guard !actions.isEmpty else { return }
        handlers.runHere({ act(on: actions) }, whenIdle: connections.commitGathered, adopt: adopt)
    }

    private func takeAdmitted() -> [LaneQueues.Action] {
        state.withLock { state in
            defer { state.admitted = [] }
            return state.admitted
        }
    }

    /// Starts nothing more; what waits stays on disk for the next start.
    func stop() {
        let held = change { state in
            state.isStopping = true
            state.queues.stopped()
            let held = state.queues.held
            state.leftOnDisk.formUnion(held)
            return held.map { state.tasks[$0] }
        }
        for task in held { cancel(task) }
        closeWhenDone()
    }

    /// Returns after ``stop()`` and the end of the last command that runs.
    func stopped() async { await ended.wait() }

    /// Gives up the space for more than there are now.
    func releaseMemory() {
        state.withLock { state in
            state.queues.releaseMemory()
            if state.tasks.isEmpty { state.tasks = [:] }
        }
    }

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            let result = body(&state)
            count.store(state.queues.all, ordering: .relaxed)
            return result
        }
    }

    /// - Parameter isFree: Whether this thread has nothing else to do, so that it may wait for the disk.
    private func act(on actions: [LaneQueues.Action], isFree: Bool = true) {
        // Results first: what is started now must not be answered before the one that it waited for.
        let ended = actions.compactMap { if case .end(let command) = $0 { command } else { nil } }
        if !ended.isEmpty { connections.end(ended, isFree && ended.count == actions.count) }
        for action in actions {
            switch action {
            case .run(let job): start(job)
            case .commitHeld(let job): commitHeld(job)
            case .commitEnd(let job): commitEnd(job)
            case .commitDue(let jobs): commitDue(jobs)
            case .commitPutOff(let job): commitPutOff(job)
            case .cancelTask(let sequence): cancel(state.withLock { $0.tasks[sequence] })
            case .sendAccepted(let job): sendAccepted(job)
            case .sendProgress(let job, let progress): connections.progressed(job, progress)
            case .end: break
            }
        }
    }

    // MARK: Running

    private func start(_ job: CommandJob) {
        let threads = PoolShare(of: handlers, for: job.sender)
        let scope = OpenScope(executor: threads)
        let task = Task(executorPreference: threads) {
            await OpenScope.$current.withValue(scope) { await self.runLane(from: job) }
        }
        let cancelled = state.withLock { state -> Task<Void, Never>? in
            // It may have ended by now.
            guard let isCanceled = state.queues.isCanceled(job.sequence) else { return nil }
            state.tasks[job.sequence] = task
            // A cancellation, or a stop, that came before this found no task.
            return isCanceled || state.leftOnDisk.contains(job.sequence) ? task : nil
        }
        cancel(cancelled)
    }

    private func cancel(_ task: Task<Void, Never>?) {
        guard let task else { return }
        Task(executorPreference: cancelling) { task.cancel() }
    }

    /// Runs a command and those after it in its lane.
    private func runLane(from first: CommandJob) async {
        var next: CommandJob? = first
        var turn = 0
        state.withLock { $0.queues.began(first.sequence) }
        while let job = next {
            let result: CommandResult
            if let spans = connections.spans {
                result = await spans.around(job.sequence) { await run(job, tracer: spans.router) }
            } else {
                result = await run(job)
            }
            FaultPoint.afterHandler.reached()
            next = finished(job, result)
            turn += 1
            if turn % Self.commandsPerTurn == 0 { await Task.yield() }
        }
        closeWhenDone()
    }

    private func run(_ job: CommandJob, tracer: RouterSpans? = nil) async -> CommandResult {
        await runner.run(
            job, tracer: tracer, beforeHandler: { try await self.beforeHandler(of: job, $0) },
            onWait: { self.held(job, $0) }, onProgress: { self.progressed(job, $0) })
    }

    /// Called when a handler is about to run, now that the router knows which.
    ///
    /// The start of what must not run twice is stored first, and that of what was held: only so a start on disk tells
    /// which of many commands may have ended the agent.
    private func beforeHandler(of job: CommandJob, _ start: HandlerStart) async throws {
        let now = clock.monotonic()
        let beginning = change { state -> LaneQueues.Beginning in
            // It was left for the next start.
            guard !state.leftOnDisk.contains(job.sequence) else { return .ended([]) }
            return state.queues.handlerBegins(job.sequence, isIdempotent: start.isIdempotent, at: now)
        }
        switch beginning {
        case .begin: return
        case .ended(let actions):
            act(on: actions)
            throw CancellationError()
        case .commit(let step):
            guard try await connections.commit(step, job) else {
                _ = state.withLock { $0.leftOnDisk.insert(job.sequence) }
                throw StepNotCommitted()
            }
            FaultPoint.afterStarted.reached()
            let ended = change { $0.queues.stepCommitted(job.sequence, at: clock.monotonic()) }
            guard let ended else { return }
            act(on: ended)
            throw CancellationError()
        }
    }

    private func commit(_ step: InboxStep, _ job: CommandJob) async -> Bool {
        (try? await connections.commit(step, job)) ?? false
    }

    /// Its lane goes on only when it is on disk that the command is held.
    private func commitHeld(_ job: CommandJob) {
        AgentThreads.start { [self] in
            guard await commit(.held, job) else { return }
            let now = clock.monotonic()
            act(on: change { $0.queues.heldCommitted(job.sequence, at: now) })
        }
    }

    /// Its lane goes on only when it is on disk that the command has ended.
    private func commitEnd(_ job: CommandJob) {
        AgentThreads.start { [self] in
            guard await connections.flush() else { return }
            let now = clock.monotonic()
            act(on: change { $0.queues.endCommitted(job, at: now) })
        }
    }

    /// An interceptor holds a command, or lets it go on; called by the task that runs it.
    private func held(_ job: CommandJob, _ isHeld: Bool) {
        let now = clock.monotonic()
        let (actions, mustEnd) = change { state in
            let actions = state.queues.held(job.sequence, isHeld, at: now)
            // It must not wait if it has ended, nor at a stop: nothing will open the gate any more.
            if isHeld, state.isStopping { state.leftOnDisk.insert(job.sequence) }
            return (actions, isHeld && state.isStopping || state.queues.isCanceled(job.sequence) == nil)
        }
        act(on: actions)
        if mustEnd { withUnsafeCurrentTask { $0?.cancel() } }
    }

    /// A handler says how far it is, from any thread and as often as it likes.
    private func progressed(_ job: CommandJob, _ progress: HandlerProgress) {
        let now = clock.monotonic()
        act(on: change { $0.queues.progressed(job.sequence, progress, at: now) }, isFree: false)
    }

    /// Ends a command; returns the next of its lane when the same task may run it.
    private func finished(_ job: CommandJob, _ result: CommandResult) -> CommandJob? {
        let now = clock.monotonic()
        var next: CommandJob?
        let actions = change { state -> [LaneQueues.Action] in
            let task = state.tasks.removeValue(forKey: job.sequence)
            guard state.leftOnDisk.remove(job.sequence) == nil else {
                state.queues.leftOnDisk(job.sequence)
                return []
            }
            var actions = state.queues.finished(job.sequence, result, at: now)
            // A cancelled task would cancel what it runs next; that gets its own task. No cancellation can
            // come later, since the task is not known by the old command's number any more. One of another sender
            // runs on that sender's threads.
            if case .run(let following)? = actions.last, following.sender == job.sender, let task,
                !task.isCancelled
            {
                actions.removeLast()
                state.tasks[following.sequence] = task
                state.queues.began(following.sequence)
                next = following
            }
            return actions
        }
        act(on: actions, isFree: next == nil)
        return next
    }

    // MARK: Time

    private func tickWhileBusy() {
        let mustStart = state.withLock { state in
            guard !state.isTicking, !state.queues.isIdle else { return false }
            state.isTicking = true
            return true
        }
        guard mustStart else { return }
        tickLater()
    }

    private func tickLater() {
        _ = TimerThread.shared.call(after: .milliseconds(Self.tick)) {
            AgentThreads.start { if self.ticked() { self.tickLater() } }
        }
    }

    /// Checks times; false when there is nothing left to check.
    private func ticked() -> Bool {
        let now = clock.monotonic()
        let (actions, goesOn) = change { state in
            let actions = state.queues.ticked(at: now)
            // One task serves many commands: only a look that finds none ends it.
            state.isTicking = !state.queues.isIdle
            return (actions, state.isTicking)
        }
        act(on: actions)
        closeWhenDone()
        return goesOn
    }

    // MARK: Commands that wait for their time

    /// Looks at the clock again when the next one begins, or in a few seconds: it may be set meanwhile.
    private func lookLater() {
        let (wall, now) = (clock.wall(), clock.monotonic())
        let isCorrect = connections.isClockCorrect(wall)
        let look = state.withLock { state -> (pause: Int64, at: Int64)? in
            guard !state.isStopping, state.queues.scheduled.count > 0,
                let pause = state.queues.scheduled.pause(at: wall, isClockCorrect: isCorrect)
            else { return nil }
            let at = now + pause
            guard state.nextLook.map({ at < $0 }) ?? true else { return nil }
            state.nextLook = at
            return (pause, at)
        }
        guard let look else { return }
        _ = TimerThread.shared.call(after: .milliseconds(look.pause)) {
            AgentThreads.start { [self] in
                // An earlier look has taken its place.
                guard state.withLock({ $0.nextLook == look.at }) else { return }
                lookAtClock()
            }
        }
    }

    /// Begins with the commands whose time has come, and ends those that have expired.
    func lookAtClock() {
        let now = clock.wall()
        let isCorrect = connections.isClockCorrect(now)
        act(
            on: change { state in
                state.nextLook = nil
                return isCorrect && !state.isStopping ? state.queues.timeCame(at: now) : []
            })
        lookLater()
    }

    /// That a command begins later is said once it is on disk.
    private func sendAccepted(_ job: CommandJob) {
        guard job.isScheduled else { return connections.accepted(job) }
        AgentThreads.start { [self] in if await connections.flush() { connections.accepted(job) } }
    }

    /// A command is one of its lane only when it is on disk that its time has come.
    private func commitDue(_ jobs: [CommandJob]) {
        AgentThreads.start { [self] in
            for job in jobs {
                guard await commit(.due, job) else { return }
                FaultPoint.afterDue.reached()
                let (wall, now) = (clock.wall(), clock.monotonic())
                act(on: change { $0.isStopping ? [] : $0.queues.dueCommitted(job.sequence, at: wall, now) })
                tickWhileBusy()
            }
            lookAtClock()
        }
    }

    private func commitPutOff(_ job: CommandJob) {
        AgentThreads.start { [self] in
            guard await commit(.scheduled, job) else { return }
            change { $0.queues.putOffCommitted(job.sequence) }
            lookAtClock()
        }
    }

    private func closeWhenDone() {
        if state.withLock({ $0.isStopping && $0.queues.isIdle }) { ended.fire() }
    }
}
