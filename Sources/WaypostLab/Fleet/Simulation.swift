import Glibc
import MQTTLink
import Threading
import Waypost
import WaypostAgent
package import WaypostBackend
import WaypostMessages

/// Why a simulation can't begin.
package enum SimulationError: Error {
    case noBroker(String)
    /// The limit of open files is too low for so many sessions.
    case tooFewFiles(String)
}

/// Runs a simulated fleet at a broker: it keeps the sessions and the time, and what is done follows from
/// ``SimulatedFleet``.
package final class Simulation: Sendable {
    /// Messages in flight while agents are brought up or taken away: what waits takes memory.
    private static let mostInFlight = 4_000
    /// Agents that are brought up in one go.
    private static let atOnce = 50
    /// Own sessions that connect at the same time.
    private static let mostConnecting = 50
    private static let tick = Duration.milliseconds(100)
    /// The number of the session for agents that have no own one, or none any more.
    private static let house = -1

    /// Which phase it is in.
    private enum Phase: Sendable {
        case starting
        case running
        case ending
    }

    package let plan: FleetPlan
    /// Called on the sessions' threads.
    private let note: @Sendable (String) -> Void
    private let settings: BackendConfiguration
    private let fleet: Guarded<SimulatedFleet>
    /// By number; an agent's own has the agent's.
    private let sessions = Guarded<[Int: SimulationSession]>([:])
    private let sharedSessions: Int
    /// What agents' own sessions run on: a thread each would take more memory than the session.
    private let threads = (0..<4).map { _ in LinkThread() }
    private let tasks = Guarded<[SimulatedCommand.Key: Task<Void, Never>]>([:])
    private let phase = Guarded(Phase.starting)
    /// Sessions whose agents must come again, because their connection is a new one.
    private let renewed = Guarded<Set<Int>>([])
    /// What the sessions speak that agents share.
    private let version = Guarded(MQTTVersion.v5)
    private let begun: (wall: Int64, instant: ContinuousClock.Instant)

    /// - Parameters:
    ///   - sessions: how many sessions the agents share, when they have none of their own.
    ///   - directory: where the services of the demo keep their files.
    ///   - note: called, on any thread, with what becomes of the connection.
    package init(
        _ plan: FleetPlan, at settings: BackendConfiguration, sessions: Int, directory: String,
        note: @escaping @Sendable (String) -> Void
    ) throws {
        self.note = note
        begun = (WallClock.now(), MonotonicTime.instant)
        self.plan = plan
        self.settings = settings
        sharedSessions = min(sessions, plan.count)
        fleet = Guarded(try SimulatedFleet(plan, directory: directory, at: begun.wall))
    }

    /// How many agents have a problem, by what it is.
    package var problems: [SimulatedFault: Int] { fleet.withLock(\.problems) }

    /// A clock that is never set.
    private var now: Int64 { begun.wall + (MonotonicTime.instant - begun.instant).milliseconds }

    // MARK: Coming up

    /// Brings all agents up.
    ///
    /// - Parameter progress: called again and again with how many there are.
    /// - Throws: ``SimulationError``; `CancellationError`.
    package func start(_ progress: (Int) -> Void) async throws {
        if plan.hasOwnSessions {
            try await startOwnSessions(progress)
        } else {
            try await startShared(progress)
        }
        while waiting > 0 {
            try await MonotonicTime.sleep(for: .milliseconds(5))
            progress(plan.count)
        }
        phase.withLock { $0 = .running }
    }

    private func startShared(_ progress: (Int) -> Void) async throws {
        for number in 0..<sharedSessions { session(number, of: nil) }
        try await connected(within: .seconds(10))
        var next = 0
        while next < plan.count {
            try Task.checkCancellation()
            progress(next)
            // What the first do meanwhile must not come all at once when the last is there.
            tick()
            guard waiting < Self.mostInFlight else {
                try await MonotonicTime.sleep(for: .milliseconds(2))
                continue
            }
            let group = next..<min(next + Self.atOnce, plan.count)
            bring(Array(group), version.withLock(\.self))
            next = group.upperBound
        }
    }

    private func startOwnSessions(_ progress: (Int) -> Void) async throws {
        try Self.allowFiles(plan.count + 64)
        session(Self.house, of: nil)
        try await connected(within: .seconds(10))
        var next = 0
        while case let arrived = fleet.withLock(\.arrived), arrived < plan.count {
            let end = min(plan.count, arrived + Self.mostConnecting)
            while next < end {
                session(next, of: next)
                next += 1
            }
            progress(arrived)
            try await MonotonicTime.sleep(for: .milliseconds(20))
            // Some are lost before the last is there.
            tick()
        }
    }

    private func connected(within limit: Duration) async throws {
        let end = MonotonicTime.instant + limit
        while !sessions.withLock({ $0.values.allSatisfy(\.isUp) }) {
            // Of several brokers the next one is tried.
            let isRefused =
                settings.brokers.count == 1 && sessions.withLock { $0.values.contains { $0.reason != nil } }
            guard !isRefused, MonotonicTime.instant < end else { throw noBroker }
            try await MonotonicTime.sleep(for: .milliseconds(5))
        }
    }

    private var noBroker: SimulationError {
        var reason = sessions.withLock { $0.values.lazy.compactMap(\.reason).first }
        // It is not tried again: the command ends.
        reason?.retryIn = nil
        return .noBroker("no broker: \(reason.map { "\($0)" } ?? "\(settings.place) does not answer")")
    }

    /// Each session needs some open files.
    private static func allowFiles(_ sessions: Int) throws(SimulationError) {
        // A socket, what wakes its thread, and what watches both.
        let wanted = rlim_t(sessions * 4)
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted
        else { return }
        guard limit.rlim_max >= wanted else {
            throw .tooFewFiles(
                "--own-sessions of so many agents needs \(wanted) open files; the limit is \(limit.rlim_max) (ulimit -Hn)"
            )
        }
        limit.rlim_cur = wanted
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private func session(_ number: Int, of agent: Int?) {
        let name = agent.map(plan.name)
        var configuration = settings.lasting(
            clientID: name ?? "waypost-simulate-\(Identifier.short())-\(number)")
        // The broker keeps nothing of it when it ends.
        configuration.cleanStart = true
        configuration.sessionExpiry = 0
        configuration.willDelay = 0
        configuration.queueLimit = 10_000 + 4 * plan.count
        configuration.queueByteLimit = 1 << 30
        if let agent {
            let groups = plan.group(agent).map { [plan.groups[$0]] } ?? []
            // A real agent subscribes to candidates only where it is chosen.
            let candidates = (["all"] + groups).map { plan.topics.candidate(of: $0) }
            configuration.subscriptions =
                (plan.topics.filters(of: plan.name(agent), groups: groups) + candidates)
                .map { Subscription($0) }
        } else if number == 0, !plan.hasOwnSessions {
            // One reads for all: what is for others is not looked at.
            configuration.subscriptions =
                [Subscription("\(plan.topics.root)/+/cmd/+")]
                // The documents of groups are among them, see `BackendSession`.
                + ["map", "map/patch", "map/next", "rollout"].map {
                    Subscription("\(plan.topics.root)/+/\($0)", qos: .atMostOnce)
                }
        }
        let session = SimulationSession(number, configuration, of: agent, in: self)
        sessions.withLock { $0[number] = session }
        session.start(on: agent.map { threads[$0 % threads.count] })
    }

    private func bring(_ indices: [Int], _ version: MQTTVersion) {
        let (now, mqtt) = (now, Int(version.rawValue))
        perform(fleet.withLock { fleet in indices.flatMap { fleet.born($0, mqtt: mqtt, at: now) } })
    }

    /// Messages in flight.
    private var waiting: Int { sessions.withLock { $0.values.reduce(0) { $0 + $1.waiting } } }

    /// Messages that the broker did not take.
    package var refusals: Int { sessions.withLock { $0.values.reduce(0) { $0 + $1.refusals } } }

    // MARK: Running

    /// Runs until the time is over.
    ///
    /// - Throws: `CancellationError` when it is ended before.
    package func run(for time: Duration?) async throws {
        let end = time.map { MonotonicTime.instant + $0 }
        while end.map({ MonotonicTime.instant < $0 }) ?? true {
            try await MonotonicTime.sleep(for: Self.tick)
            tick()
            bringBack()
        }
    }

    /// Has the agents come again whose shared session was lost.
    private func bringBack() {
        let numbers = renewed.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
        let (now, mqtt) = (now, Int(version.withLock(\.self).rawValue))
        // Those with sessions of their own come by themselves.
        for number in numbers.sorted() where !plan.hasOwnSessions {
            let steps = fleet.withLock { fleet in
                stride(from: number, to: plan.count, by: sharedSessions)
                    .flatMap { fleet.renewed($0, mqtt: mqtt, at: now) }
            }
            perform(steps)
        }
    }

    private func tick() {
        let now = now
        perform(fleet.withLock { $0.advance(to: now) })
    }

    /// Does what the fleet wants done.
    private func perform(_ steps: [FleetStep]) {
        var messages: [Int: [MQTTMessage]] = [:]
        for step in steps {
            switch step {
            case .publish(let message, let agent):
                messages[plan.hasOwnSessions ? agent : agent % sharedSessions, default: []].append(message)
            case .run(let command): start(command)
            case .cancel(let key): tasks.withLock { $0[key] }?.cancel()
            case .connect(let agent): session(agent, of: agent)
            case .drop(let agent): sessions.withLock { $0.removeValue(forKey: agent) }?.drop()
            }
        }
        let all = sessions.withLock { $0 }
        for (number, list) in messages { (all[number] ?? all[Self.house])?.publish(list) }
    }

    private func start(_ command: SimulatedCommand) {
        // Under the lock, or it could end before it is known.
        tasks.withLock { tasks in
            tasks[command.key] = Task(executorPreference: AgentThreads.pool) { await self.run(command) }
        }
    }

    private func run(_ command: SimulatedCommand) async {
        let result: CommandResult
        do {
            let router = try command.maps.build.router(command.maps, command.name)
            result = await router.run(command.turn.operation, command.turn.context)
        } catch {
            result = CommandResult(Failure(.handlerFailed, error.words), origin: .agent)
        }
        tasks.withLock { $0[command.key] = nil }
        let now = now
        perform(fleet.withLock { $0.ended(command, result, at: now) })
    }

    // MARK: Called by the sessions

    func will(of agent: Int) -> MQTTMessage {
        let now = now
        return fleet.withLock { $0.connecting(agent, at: now) }
    }

    func connected(_ session: SimulationSession, _ version: MQTTVersion, isFirst: Bool) {
        guard let agent = session.agent else {
            self.version.withLock { $0 = version }
            guard !isFirst else { return }
            if session.number <= 0 {
                note("connected again; the agents come back")
            }
            renewed.withLock { _ = $0.insert(session.number) }
            return
        }
        bring([agent], version)
    }

    func received(_ batch: [MQTTMessage], by agent: Int?) {
        let now = now
        perform(
            fleet.withLock { fleet in batch.flatMap { fleet.received($0, by: agent, at: now) } })
    }

    func disconnected(_ session: SimulationSession, _ reason: DisconnectReason, wasUp: Bool) {
        // One speaks for all.
        guard session.number <= 0, session.agent == nil, wasUp, case .running = phase.withLock({ $0 })
        else { return }
        note("\(reason)")
    }

    /// Whether all sessions that are shared have a connection, and the broker hears what is said.
    package var isConnected: Bool {
        sessions.withLock { $0.values.allSatisfy { $0.agent != nil || $0.isUp } }
    }

    // MARK: The end

    /// Ends all agents.
    ///
    /// - Parameters:
    ///   - clears: whether the broker keeps nothing of them.
    ///   - progress: called again and again with how many are gone.
    package func end(clears: Bool, _ progress: (Int) -> Void) async {
        phase.withLock { $0 = .ending }
        for task in tasks.withLock({ Array($0.values) }) { task.cancel() }
        let now = now
        let goodbyes = fleet.withLock { $0.goodbyes(at: now) }
        if clears {
            await clear(progress)
        } else {
            perform(goodbyes)
        }
        await drain(progress)
        for session in sessions.withLock({ Array($0.values) }) { await session.stop() }
    }

    private func clear(_ progress: (Int) -> Void) async {
        for first in stride(from: 0, to: plan.count, by: Self.atOnce) {
            // Without a connection nothing is in flight for long.
            while waiting >= Self.mostInFlight { await pause() }
            progress(first)
            perform(
                fleet.withLock { fleet in
                    (first..<min(first + Self.atOnce, plan.count)).flatMap { fleet.clearing($0) }
                })
        }
    }

    private func drain(_ progress: (Int) -> Void) async {
        let end = MonotonicTime.instant + .seconds(30)
        while waiting > 0, MonotonicTime.instant < end {
            await pause()
            progress(plan.count)
        }
    }

    private func pause() async { try? await MonotonicTime.sleep(for: .milliseconds(2)) }
}
