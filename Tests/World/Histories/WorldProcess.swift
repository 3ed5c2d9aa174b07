import CWorld
import FoundationEssentials
import Logging
import MQTTLink
import Threading
import Waypost
import WaypostAgent
import WaypostBackend

/// What is one process of a fleet: where it comes to its end, nothing of it reaches a broker from that step on.
///
/// What is left of it in the process of the world has no effect on anything.
final class WorldProcess: Sendable {
    private let broker: MemoryBroker
    private let scheduler: SeededScheduler
    private let links = Guarded<[MemoryLink]>([])
    private let death = Guarded(false)

    init(_ broker: MemoryBroker, _ scheduler: SeededScheduler) {
        (self.broker, self.scheduler) = (broker, scheduler)
    }

    var isDead: Bool { death.withLock(\.self) }

    func link(_ configuration: MQTTLinkConfiguration, _ delegate: any MQTTLinkDelegate) -> any MessageLink {
        let link = MemoryLink(configuration, delegate, broker) { [scheduler] in scheduler.note($0, $1) }
        links.withLock { $0.append(link) }
        if isDead { link.die() }
        return link
    }

    /// The network between it and the broker fails.
    func cut() { for link in links.withLock(\.self) { link.post { $0.commands.append(.cut) } } }

    func die() {
        death.withLock { $0 = true }
        for link in links.withLock(\.self) { link.die() }
    }
}

/// The state file of an agent that has stopped.
enum WorldStore {
    /// What it holds for nobody, now that all has come to rest; empty when there is none of it.
    ///
    /// - Parameter isLong: whether even ids that came need not be known any more.
    static func remains(in folder: String, isLong: Bool = false) -> [String] {
        let states = isLong ? "" : " WHERE state != 'acknowledged'"
        let questions = [
            "SELECT count(*) FROM inbox\(states)", "SELECT count(*) FROM outbox",
            "SELECT count(*) FROM damaged",
            "SELECT count(*) FROM (SELECT layer FROM map_history GROUP BY layer HAVING count(*) > 7)",
        ]
        let copy = copy(of: folder)
        return questions.compactMap { question in
            let count = world_count(copy, question)
            return count == 0 ? nil : "\(count): \(question)"
        }
    }

    /// The ids of the failure reports that wait for the broker, in order.
    static func reports(in folder: String) -> [String] {
        var bytes = [CChar](repeating: 0, count: 100_000)
        let question =
            "SELECT json_group_array(json_extract(CAST(payload AS TEXT), '$.id')) FROM "
            + "(SELECT payload FROM outbox WHERE topic LIKE '%/fail' ORDER BY seq)"
        world_text(copy(of: folder), question, &bytes, bytes.count)
        let text = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return (try? JSONDecoder().decode([String].self, from: Data(text))) ?? []
    }

    /// A copy, for what is left of agents here has the file open.
    private static func copy(of folder: String) -> String {
        let copy = "remains-\(folder)"
        for end in ["", "-wal"] {
            let bytes = try? Data(contentsOf: URL(filePath: "\(folder)/waypost.sqlite\(end)"))
            try? bytes?.write(to: URL(filePath: copy + end))
        }
        return copy
    }
}

/// An agent of a fleet, with a disk of its own.
final class WorldAgent: Sendable {
    private struct Run: Sendable {
        let agent: Agent
        let router: Router
        let process: WorldProcess
        let hasEnded = Monitor(false)
    }

    let name: String
    private let scheduler: SeededScheduler
    private let broker: MemoryBroker
    private let disk: WorldDisk
    private let run = Guarded<Run?>(nil)
    /// By how many milliseconds the clock of its machine is off.
    private let clockError = Guarded<Int64>(0)
    private let trusted: String?

    /// - Parameters:
    ///   - folder: without links in its path.
    ///   - key: the only one whose maps and documents of groups it takes; nil where it takes all.
    init(
        _ name: String, _ scheduler: SeededScheduler, _ broker: MemoryBroker, folder: String, seed: UInt64,
        trusts key: String?
    ) {
        (self.name, self.scheduler, self.broker, trusted) = (name, scheduler, broker, key)
        disk = WorldDisk(folder: "\(folder)/state-\(name)", seed: seed)
    }

    var isRunning: Bool { run.withLock { $0 != nil } }

    /// - Parameter isAlone: Whether there is no network.
    /// - Throws: what an agent says that does not start.
    func start(isAlone: Bool = false) throws {
        let process = WorldProcess(broker, scheduler)
        if isAlone { process.die() }
        disk.revive()
        // Nobody starts it with a disk that takes nothing.
        disk.failSyncs(false)
        disk.limit(nil)
        let router = Router()
        try WorldApp().register(on: router)
        let agent = try Agent(
            configuration(), router: router,
            logger: Logger(label: "world") { _ in SwiftLogNoOpLogHandler() }, clock: clock,
            makeLink: { process.link($0, $1) })
        let run = Run(agent: agent, router: router, process: process)
        self.run.withLock { $0 = run }
        scheduler.note("\(name) starts")
        Task(executorPreference: AgentThreads.pool) { [scheduler, name] in
            do { try await agent.run() } catch { scheduler.note("\(name): \(error)") }
            run.hasEnded.withLock { ($0 = true, wakes: true) }
        }
    }

    /// What a page returns that its own program opens; nil for none.
    func opened(_ url: String) -> String? {
        guard let router = run.withLock(\.self)?.router else { return nil }
        let opened = Monitor(nil as Opening?)
        Task(executorPreference: AgentThreads.pool) {
            let opening = await router.open(url)
            opened.withLock { ($0 = opening, wakes: true) }
        }
        return opened.wait { opening, _ in opening.map { .end($0) } ?? .wait(until: .max) }.value?.stringValue
    }

    private func configuration() throws -> AgentConfiguration {
        let url = try BrokerURL("mqtt://127.0.0.1:1883") as BrokerURL
        var configuration = AgentConfiguration(
            agent: name, groups: ["fleet"], stateDirectory: "state-\(name)",
            link: MQTTLinkConfiguration(brokers: [url], clientID: name))
        configuration.limits.handlerDeadline = .seconds(20)
        if let trusted { try configuration.trust.pin("release", key: trusted) }
        return configuration
    }

    // MARK: What goes wrong

    func cut() { run.withLock { $0 }?.process.cut() }
    func failSyncs(_ fails: Bool) { disk.failSyncs(fails) }
    func limit(_ bytes: Int?) { disk.limit(bytes) }
    func setClock(off error: Int64) { clockError.withLock { $0 = error } }

    /// That on the wall of the world is the backends'.
    private var clock: AgentClock {
        var clock = AgentClock.system
        clock.wall = { [self] in
            WallClock.now() - scheduler.clock.error + clockError.withLock(\.self)
        }
        return clock
    }

    /// Its machine loses its power, here and now; false when it does not run.
    func kill() -> Bool {
        guard let run = run.withLock(\.self) else { return false }
        scheduler.note("\(name) is killed")
        run.process.die()
        disk.die()
        return stop()
    }

    /// It ends, as told or because nothing of it has any effect any more; false when it does not within a minute.
    func stop() -> Bool {
        guard
            let run = run.withLock({ run in
                defer { run = nil }
                return run
            })
        else { return true }
        run.agent.stop(because: "the history")
        let limit = MonotonicTime.after(.seconds(60))
        return run.hasEnded.wait { ended, isTimeUp -> Monitor<Bool>.Step<Bool> in
            ended || isTimeUp ? .end(ended) : .wait(until: limit)
        }
    }
}

/// A backend of a fleet, which may be any program that people use.
final class WorldBackend: Sendable {
    /// A program with a connection that all of it shares, and the settings for one that makes its own, as a command has it.
    final class Run: Sendable {
        let backend: Backend
        let settings: BackendConfiguration
        fileprivate let process: WorldProcess
        fileprivate let tasks = Guarded<[Task<Void, Never>]>([])

        fileprivate init(_ settings: BackendConfiguration, _ process: WorldProcess) {
            (self.settings, self.process) = (settings, process)
            backend = Backend(settings)
        }
    }

    let name: String
    private let scheduler: SeededScheduler
    private let broker: MemoryBroker
    private let run = Guarded<Run?>(nil)
    private let signer: Signer?
    /// The calls that have not ended, those of a process that was killed among them.
    private let calls = Guarded<(last: Int, open: [Int: String])>((0, [:]))

    init(
        _ name: String, _ scheduler: SeededScheduler, _ broker: MemoryBroker, _ signer: Signer? = nil
    ) {
        (self.name, self.scheduler, self.broker, self.signer) = (name, scheduler, broker, signer)
    }

    func start() throws {
        let process = WorldProcess(broker, scheduler)
        var settings = try BackendConfiguration(broker: "mqtt://127.0.0.1:1883", name: name)
        settings.logger = Logger(label: "world") { _ in SwiftLogNoOpLogHandler() }
        settings.makeLink = { process.link($0, $1) }
        settings.signer = signer?.ofBackend
        let run = Run(settings, process)
        self.run.withLock { $0 = run }
        let task = Task { _ = try? await run.backend.run() }
        run.tasks.withLock { $0.append(task) }
    }

    /// Begins what somebody wants done; what comes of it is noted.
    ///
    /// - Parameter isEndless: Whether it lasts as long as its process.
    func perform(
        _ what: String, isEndless: Bool = false, _ body: @escaping @Sendable (Run) async throws -> String
    ) {
        guard let run = run.withLock(\.self) else { return }
        scheduler.note("\(name) begins \(what)")
        let number = calls.withLock { calls in
            calls.last += 1
            if !isEndless { calls.open[calls.last] = what }
            return calls.last
        }
        let task = Task { [self] in
            let text: String
            do { text = try await body(run) } catch { text = "\(error)" }
            if !run.process.isDead { scheduler.note("\(name) ends \(what): \(text)") }
            calls.withLock { $0.open[number] = nil }
        }
        run.tasks.withLock { $0.append(task) }
    }

    /// The calls that have not ended, in order.
    var open: [String] { calls.withLock { $0.open.sorted { $0.key < $1.key }.map(\.value) } }

    func cut() { run.withLock { $0 }?.process.cut() }

    /// It comes to its end, here and now.
    func kill() {
        guard
            let run = run.withLock({ run in
                defer { run = nil }
                return run
            })
        else { return }
        scheduler.note("\(name) is killed")
        run.process.die()
        for task in run.tasks.withLock(\.self) { task.cancel() }
    }
}
