import CWorld
import Glibc
import Synchronization
import Threading

/// Lets one thread run at a time, as a ``Schedule`` decides.
///
/// The threads are real ones, so all code runs as it is, with its stack and what the runtime keeps for each thread
/// (`turns.c`). Nobody waits for a lock: who has one keeps the turn. `Sendable`, because only the thread that has the turn
/// looks at anything.
package final class SeededScheduler: Scheduler, @unchecked Sendable {
    /// How a history ended.
    package enum Ending: Sendable, Equatable {
        case done
        /// All threads wait for each other.
        case stuck
        /// The machine of the world came to its end, as by a loss of power.
        case crashed
        /// It takes more steps than it may.
        case endless
    }

    /// What the clock on the wall shows, and by how much that is off, in milliseconds.
    struct Clock {
        var wall: Int64
        var error: Int64
    }

    /// What one history goes on from when its machine starts again.
    struct Past: Codable {
        /// In nanoseconds, and not 0, which is no time for some.
        var now: UInt64 = 1_000_000_000
        var digest = Digest()
        /// By how many milliseconds the clock on the wall is off.
        var clockError: Int64 = 0
    }

    /// What the clock on the wall would show at 0.
    static let wallStart: Int64 = 2_000_000_000_000
    // No access is looked after at run time: only the thread that has the turn is in here.
    @exclusivity(unchecked) private var schedule: Schedule
    private var chance: Draws
    private var clockError: Int64
    private let stepLimit: UInt64
    private let crashStep: UInt64
    private let showsNotes: Bool
    /// How often the running thread keeps the turn.
    @exclusivity(unchecked) private var holds = 0
    /// That of each thread, by its number; nil where it has ended.
    @exclusivity(unchecked) private var turns: [OpaquePointer?] = [nil]
    @exclusivity(unchecked) private var ending: Ending?
    /// When it came to rest; what is looked at behind that does not count.
    private var lastedUntil: UInt64?
    private let over = Semaphore()
    /// The steps, for who looks from outside whether it goes on.
    private let progress = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - past: what was before.
    ///   - crash: the step at which the machine comes to its end.
    init(
        seed: UInt64, after past: Past = Past(), crash: UInt64 = .max,
        stepLimit: UInt64 = 50_000_000, showsNotes: Bool = false
    ) {
        schedule = Schedule(seed: seed, now: past.now, digest: past.digest)
        clockError = past.clockError
        crashStep = crash
        chance = Draws(seed: seed, stream: 2)
        (self.stepLimit, self.showsNotes) = (stepLimit, showsNotes)
    }

    /// Runs a history in a process that has no other: `body` on its first thread, until that ends or nothing goes on.
    ///
    /// - Parameter patience: in seconds; nil as the ending when there is no step in that long: a thread waits
    ///   for something that is no part of the world.
    package func run(patience: Int = 120, _ body: @escaping @Sendable () -> Void) -> Ending? {
        Scheduling.begin(self)
        let failure = PlainThread.start(name: "people") {
            TaskThreads.shared.start()
            body()
            self.end(.done)
        }
        precondition(failure == nil, "no thread")
        if case .of(let first) = schedule.ended() { world_turn_begin(turns[first]) }
        var seen: UInt64 = 0
        while !over.wait(seconds: patience) {
            let now = progress.load(ordering: .relaxed)
            if now == seen { return nil }
            seen = now
        }
        return ending
    }

    /// What has happened, for who reads it after the end.
    package var summary: (digest: UInt64, steps: UInt64, switches: UInt64, milliseconds: UInt64) {
        (schedule.digest.value, schedule.steps, schedule.switches, (lastedUntil ?? schedule.now) / 1_000_000)
    }

    /// Each thread and what it does, for who looks for why nothing goes on.
    package var threads: [String] {
        schedule.threads.map { thread in
            let state =
                thread.number == schedule.running
                ? "has the turn"
                : thread.wait.map { $0.until == .max ? "waits" : "waits until \($0.until / 1_000_000) ms" }
                    ?? "can run"
            return "\(thread.number) \(thread.name): \(state)"
        }
    }

    /// What still runs when all has ended.
    struct Leak: Error, CustomStringConvertible { let description: String }

    /// Twenty minutes after all that people began has ended, no thread of it runs and no timer is set.
    ///
    /// - Throws: ``Leak``
    func checkEnd() throws(Leak) {
        lastedUntil = schedule.now
        CurrentThread.sleep(for: .seconds(1_200))
        var left = schedule.threads.map(\.name)
        // These never end.
        for name in ["people", "tasks-1", "tasks-2", "tasks-3", "broker", "wp-timer"] {
            if let index = left.firstIndex(of: name) { left.remove(at: index) }
        }
        let timers = TimerThread.shared.count
        guard left.isEmpty, timers == 0 else {
            throw Leak(description: "rest: threads go on: \(left), and \(timers) timers")
        }
    }

    /// Something that belongs to the history.
    package func note(_ text: String, _ bytes: [UInt8] = []) {
        schedule.note(text.utf8, bytes)
        if showsNotes {
            let number = schedule.running
            let name = schedule.threads.first { $0.number == number }?.name ?? ""
            let more = String(decoding: bytes, as: UTF8.self)
            print("\(schedule.now / 1_000) µs \(number) \(name): \(text)\(more)")
        }
    }

    /// Ends the machine here and now, on the thread that has the turn.
    func crash() -> Never { end(.crashed) }

    /// What comes after this goes on from it.
    var past: Past { Past(now: schedule.now, digest: schedule.digest, clockError: clockError) }

    /// Whether its machine came to its end.
    var hasCrashed: Bool { ending == .crashed }

    /// Somebody sets the clock on the wall, to so many milliseconds beside the right time.
    func setClock(off error: Int64) { clockError = error }

    /// For who looks from outside of the world.
    var clock: Clock {
        Clock(wall: Self.wallStart + clockError + Int64(schedule.now / 1_000_000), error: clockError)
    }

    /// The history is over: no thread gets a turn any more.
    private func end(_ ending: Ending) -> Never {
        self.ending = ending
        over.post()
        while true { pause() }
    }

    // MARK: Turns

    private func take(_ turn: Schedule.Turn, from number: Int, isLast: Bool = false) {
        guard case .of(let next) = turn else { end(.stuck) }
        progress.store(schedule.steps, ordering: .relaxed)
        guard schedule.steps < stepLimit else { end(.endless) }
        guard schedule.steps < crashStep else { crash() }
        guard next != number else { return }
        guard isLast else { return world_turn_give(turns[number], turns[next]) }
        let own = turns[number]
        turns[number] = nil
        world_turn_give_last(own, turns[next])
    }

    package func hold(passes: Bool) {
        // Behind the end there is only who reads what is left.
        if passes, holds == 0, ending == nil {
            let number = schedule.running
            take(schedule.passed(), from: number)
        }
        holds += 1
    }

    package func letGo() { holds -= 1 }

    package func thread(
        named name: String, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let number = schedule.began(name)
        precondition(number == turns.count, "threads are numbered in their order")
        // Safe because only this thread frees it, when nothing gives it a turn any more.
        nonisolated(unsafe) let turn = world_turn_new()
        turns.append(turn)
        let job = Unmanaged.passRetained(Job(body, self))
        return {
            let run: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
                if let context { Unmanaged<Job>.fromOpaque(context).takeUnretainedValue().run() }
            }
            world_turn_take(turn, run, job.toOpaque())
            job.release()
            world_turn_free(turn)
        }
    }

    fileprivate func endThread() {
        let number = schedule.running
        take(schedule.ended(), from: number, isLast: true)
    }

    package func wait(for condition: ObjectIdentifier, until time: UInt64) -> Bool {
        precondition(holds == 1, "a thread waits behind another lock")
        holds = 0
        let number = schedule.running
        take(schedule.waits(for: condition, until: time), from: number)
        holds = 1
        return schedule.wasTimeUp
    }

    package func wake(_ condition: ObjectIdentifier) { schedule.wakes(condition) }

    // MARK: Time and chance

    package func time() -> UInt64 { schedule.looksAtTime() }
    package func wallTime() -> Int64 {
        Self.wallStart + clockError + Int64(schedule.looksAtTime() / 1_000_000)
    }
    package func random() -> UInt64 { chance.next() }
    package var thread: Int64 { Int64(schedule.running) }
    package var process: Int64 { 1 }
    package var processors: Int { 2 }
}

/// What a thread runs once.
private final class Job: @unchecked Sendable {
    private var body: (@Sendable () -> Void)?
    private let scheduler: SeededScheduler

    init(_ body: @escaping @Sendable () -> Void, _ scheduler: SeededScheduler) {
        (self.body, self.scheduler) = (body, scheduler)
    }

    func run() {
        runBody()
        scheduler.endThread()
    }

    /// Frees it while its thread still has the turn, for what that frees may take locks.
    @inline(never)
    private func runBody() {
        body?()
        body = nil
    }
}

/// Of the system, for who waits from outside of the world.
///
/// `Sendable`, as its address never changes.
private final class Semaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func post() { sem_post(semaphore) }

    /// False when that time is over.
    func wait(seconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while sem_timedwait(semaphore, &end) != 0 { if errno == ETIMEDOUT { return false } }
        return true
    }
}

/// The threads that all tasks share, in a world: three, so that tasks can overtake each other.
final class TaskThreads: Sendable {
    static let shared = TaskThreads()

    private let jobs = Monitor<[UnownedJob]>([])

    func start() {
        world_take_jobs { job in
            guard let job else { return }
            TaskThreads.shared.add(unsafeBitCast(job, to: UnownedJob.self))
        }
        for number in 1...3 { _ = PlainThread.start(name: "tasks-\(number)") { self.run() } }
    }

    private func add(_ job: UnownedJob) {
        Scheduling.undisturbed { jobs.withLock { ($0.append(job), wakes: true) } }
    }

    private func run() -> Never {
        while true {
            let job = jobs.wait { jobs, _ -> Monitor<[UnownedJob]>.Step<UnownedJob> in
                jobs.isEmpty ? .wait(until: .max) : .end(jobs.removeFirst())
            }
            job.runSynchronously(on: globalConcurrentExecutor.asUnownedTaskExecutor())
        }
    }
}
