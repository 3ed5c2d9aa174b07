import Threading
import Waypost
import WaypostFleet
import WaypostMessages

@testable import WaypostBackend

/// A fleet with those who send it maps: agents, backends and their broker, each of which comes to its end anywhere and starts
/// again; then nothing fails any more, and all must come to rest.
final class FleetHistory: Sendable {
    /// What did not come about at all.
    enum Breach: Error, CustomStringConvertible {
        case notStarted(String, String)
        case doesNotStop(String)
        case callWithoutEnd(String)
        case rolloutWithoutEnd(String)
        case noMap([String])
        case noGroups([String])
        case notOnline([String])
        case shownWrong(String)
        case auditBroken([String])
        case leftOver(String, [String])

        var description: String {
            switch self {
            case .notStarted(let name, let reason): "law 14: \(name) does not start: \(reason)"
            case .doesNotStop(let name): "law 8: \(name) does not stop"
            case .callWithoutEnd(let name): "rest: a call of \(name) does not end"
            case .rolloutWithoutEnd(let text): "rest: the roll-out does not end: \(text)"
            case .noMap(let names): "law 5: the newest map is not in force at \(names)"
            case .noGroups(let names): "law 5: the last document of groups is not in force at \(names)"
            case .notOnline(let names): "rest: \(names) do not come online"
            case .shownWrong(let text): "rest: what is shown is not so: \(text)"
            case .auditBroken(let faults): "law 21: \(faults)"
            case .leftOver(let name, let what): "rest: \(name) keeps for nobody: \(what)"
            }
        }
    }

    /// What is so in all of a history.
    struct Traits {
        var agents: Int
        /// The longest time between two deeds.
        var pause: Duration
        var broker = BrokerModel.Traits()
        /// Whether maps are rolled out, beside those that are sent to all at once.
        var rolls: Bool
        var options = RolloutOptions()
        /// Whether it goes on for so long that agents need not know what came any more.
        var isLong: Bool
        /// Whether agents trust one key alone, which the backends have; and somebody without it publishes, too.
        var isSigned: Bool
        /// Whether one of the group says what is not so; then no disk fails, which would be a reason of its own.
        var hasLiar: Bool

        init(_ seed: UInt64, _ kind: HistoryKind) {
            var draws = Draws(seed: seed, stream: 3)
            let few = Int.random(in: 2...5, using: &draws)
            (agents, pause) = kind == .hour ? (20, .seconds(180)) : (few, .seconds(6))
            rolls = Int.random(in: 0...2, using: &draws) > 0
            isLong = Int.random(in: 0...3, using: &draws) == 0
            broker.persists = Int.random(in: 0...3, using: &draws) > 0
            broker.persistsNewSessions = broker.persists
            broker.deliversTwice = Int.random(in: 0...7, using: &draws) == 0
            broker.copiesForEachFilter = Bool.random(using: &draws)
            options.stages = [.count(1), .share(50_000), .share(RolloutStage.everyone)]
            options.dwells = [.seconds(Int64.random(in: 5...30, using: &draws))]
            options.spread = .seconds(1)
            options.tail = .seconds(20)
            (options.grace, options.settling) = (10_000, 3_000)
            options.hold = .seconds(60)
            options.revertsWhenSilent = Bool.random(using: &draws)
            options.allowsNoTraffic = Int.random(in: 0...2, using: &draws) == 0
            hasLiar = Int.random(in: 0...2, using: &draws) == 0
            isSigned = Int.random(in: 0...2, using: &draws) == 0
            if Bool.random(using: &draws) { options.limit = .init(failures: 2, share: 50, within: 60_000) }
        }
    }

    let scheduler: SeededScheduler
    let broker: MemoryBroker
    let traits: Traits
    let agents: [WorldAgent]
    let backends: [WorldBackend]
    let truth: Guarded<FleetTruth>
    private let seed: UInt64
    let liar = Guarded<FleetLiar?>(nil)
    private let forger = Guarded<FleetForger?>(nil)
    /// Who shows people the fleet, from its beginning on.
    let screen: WorldBackend
    let reader = Guarded<FleetReader?>(nil)
    /// How often what went wrong hit the fleet in which state.
    var met: [String: Int] { truth.withLock(\.met) }
    private let numbers = Guarded((command: 0, map: 0, rollout: 0))

    init(_ scheduler: SeededScheduler, _ kind: HistoryKind, folder: String, seed: UInt64) {
        let traits = Traits(seed, kind)
        let broker = MemoryBroker(BrokerModel.Kept(), traits.broker)
        (self.scheduler, self.traits, self.broker) = (scheduler, traits, broker)
        let signer = traits.isSigned ? Signer("release", 7) : nil
        agents = (1...traits.agents).map {
            WorldAgent(
                "k\($0)", scheduler, broker, folder: folder, seed: seed &+ UInt64($0),
                trusts: signer?.publicKey)
        }
        backends = ["shop", "desk"].map { WorldBackend($0, scheduler, broker, signer) }
        screen = WorldBackend("screen", scheduler, broker)
        truth = Guarded(
            FleetTruth(
                agents: agents.map(\.name), needsTraffic: !traits.options.allowsNoTraffic,
                keepsMaps: traits.broker.persists, hasLiar: traits.hasLiar, isSigned: traits.isSigned))
        self.seed = seed
    }

    func run(_ draws: Draws, count: Int, without: Set<HistoryPart>) throws {
        var draws = draws
        broker.start()
        let ends = ["state", "health", "map/applied", "map", "map/next", "rollout", "reply/me", "groups"]
        let sender = WorldClient("me", at: broker, ends.map { "waypost/v1/+/\($0)" })
        for agent in agents { try start(agent) }
        if traits.hasLiar, !without.contains(.lies) {
            liar.withLock { $0 = FleetLiar(at: broker, Draws(seed: seed, stream: 5)) }
        }
        if traits.isSigned, !without.contains(.forged) {
            forger.withLock { $0 = FleetForger(at: broker) }
        }
        for backend in backends { try backend.start() }
        try show()
        // What is sent before its session is there, no broker keeps for it.
        try take(from: sender, for: .seconds(60)) { $0.offline.isEmpty }
        for _ in 0..<count {
            try perform(FleetDeed(&draws, traits), without, sender)
            let pause = Int64.random(in: 0...traits.pause.milliseconds, using: &draws)
            try take(from: sender, for: .milliseconds(pause)) { _ in false }
        }
        try comeToRest(sender)
        for agent in agents where !agent.stop() { throw Breach.doesNotStop(agent.name) }
        for backend in backends + [screen] { backend.kill() }
        try scheduler.checkEnd()
    }

    private func start(_ agent: WorldAgent, isAlone: Bool = false) throws {
        do { try agent.start(isAlone: isAlone) } catch { throw Breach.notStarted(agent.name, "\(error)") }
    }

    /// A console reads all that there is.
    private func show() throws {
        try screen.start()
        screen.perform("console", isEndless: true) { [self] run in
            let found = FleetReader(run.backend)
            reader.withLock { $0 = found }
            try await found.run()
            return "ended"
        }
    }

    /// It starts again after so many milliseconds, perhaps without a network before.
    private func kill(_ agent: WorldAgent, _ downtime: Int64, _ sender: WorldClient) throws {
        guard agent.kill() else { throw Breach.doesNotStop(agent.name) }
        try take(from: sender, for: .milliseconds(downtime)) { _ in false }
        if downtime.isMultiple(of: 2) { try lookAlone(agent, sender) }
        try start(agent)
    }

    /// Without any network it has in force what it had.
    private func lookAlone(_ agent: WorldAgent, _ sender: WorldClient) throws {
        try start(agent, isAlone: true)
        try take(from: sender, for: .seconds(1)) { _ in false }
        let candidate = truth.withLock { $0.tried(by: agent.name)?.marker }
        func look(goesBack: Bool) throws {
            let shown = agent.opened("shop://where/fleet")
            try truth.withLock {
                try $0.sees(shown, at: agent.name, after: candidate, goesBack: goesBack)
            }
        }
        try look(goesBack: false)
        if traits.options.revertsWhenSilent, candidate != nil {
            try take(from: sender, for: .seconds(90)) { _ in false }
            try look(goesBack: true)
        }
        guard agent.stop() else { throw Breach.doesNotStop(agent.name) }
    }

    func take(
        from sender: WorldClient, for time: Duration, unless isEnough: (FleetTruth) -> Bool
    ) throws {
        try sender.take(until: MonotonicTime.after(time), unless: { truth.withLock { isEnough($0) } }) {
            guard case .message(let delivery) = $0 else { return }
            let control = try truth.withLock { truth in
                let before = truth.control?.order
                try truth.heard(delivery)
                return truth.control?.order == before ? nil : truth.control
            }
            // Of each order at once, and again when it is drawn.
            if let control { liar.withLock { $0?.lies(about: control) } }
        }
    }

    // MARK: What is done

    private func perform(_ deed: FleetDeed, _ without: Set<HistoryPart>, _ sender: WorldClient) throws {
        if let part = deed.part {
            guard !without.contains(part) else { return }
            truth.withLock { $0.meets(part) }
        }
        scheduler.note("\(deed)")
        switch deed {
        case .opens(let times): for _ in 0..<times { open(sender) }
        case .map(let backend): send(backends[backend])
        case .undo(let backend):
            backends[backend].perform("undo") { run in
                let answers = try await run.backend.group(FleetTruth.group).undoMap()
                return "\(answers.values.count) answers"
            }
        case .keeper(let backend): keep(backends[backend])
        case .patch(let backend, let agent): patch(backends[backend], agents[agent].name)
        case .group(let backend, let agent, let name, let joins):
            change(
                backends[backend], agents[agent].name, joins: joins ? [name] : [], leaves: joins ? [] : [name]
            )
        case .groups(let agent, let joined, let left):
            change(backends[0], agents[agent].name, joins: [joined])
            change(backends[1], agents[agent].name, leaves: [left])
        case .rollOut(let backend, let isGood, let isCommand, let excluded):
            rollOut(
                backends[backend], isGood: isGood, isCommand: isCommand,
                without: excluded.map { agents[$0].name })
        case .steer(let backend, let order): steer(backends[backend], order)
        case .steerBoth(let order, let other):
            steer(backends[0], order)
            steer(backends[1], other)
        case .takeBackPromoted:
            // Where no traffic is needed a bad one gets that far, too.
            let isBad = traits.options.allowsNoTraffic
            rollOutUnlessOneIs(isGood: !isBad)
            for _ in 0..<30 where truth.withLock({ $0.control?.state != .promoting }) {
                if !isBad { open(sender) }
                try take(from: sender, for: .seconds(5)) { $0.control?.state == .promoting }
            }
            guard isBad else { return steer(backends[1], .takeBack) }
            for _ in 0..<10 {
                open(sender)
                try take(from: sender, for: .seconds(1)) { _ in false }
            }
        case .killAgent(let agent, let downtime):
            try kill(agents[agent], downtime, sender)
        case .killTrying(let downtime):
            guard !without.contains(.power) else { return }
            func isTrying(_ truth: FleetTruth, _ agent: WorldAgent) -> Bool {
                truth.tried(by: agent.name) != nil
            }
            rollOutUnlessOneIs()
            try take(from: sender, for: .seconds(60)) { truth in agents.contains { isTrying(truth, $0) } }
            guard let agent = truth.withLock({ truth in agents.first { isTrying(truth, $0) } }) else {
                return
            }
            try kill(agent, downtime, sender)
        case .restartAgent(let agent):
            guard agents[agent].stop() else { throw Breach.doesNotStop(agents[agent].name) }
            try start(agents[agent])
        case .killBackend(let backend):
            backends[backend].kill()
            try backends[backend].start()
        case .cut(let who):
            if who < agents.count { agents[who].cut() } else { backends[who - agents.count].cut() }
        case .broker(let isKilled): broker.restart(isKilled: isKilled)
        case .forgery(let kind, let agent): forge(kind, agents[agent].name)
        case .lies(let times):
            let control = truth.withLock(\.control)
            for _ in 0..<times { liar.withLock { $0?.lies(about: control) } }
        case .sync(let agent): agents[agent].failSyncs(true)
        case .full(let agent, let bytes): agents[agent].limit(bytes)
        case .clock(let who, let error):
            if who < agents.count { agents[who].setClock(off: error) } else { scheduler.setClock(off: error) }
        case .heals: heal()
        case .pause(let time): try take(from: sender, for: .milliseconds(time)) { _ in false }
        }
    }

    func heal() {
        for agent in agents {
            agent.failSyncs(false)
            agent.limit(nil)
            agent.setClock(off: 0)
        }
        scheduler.setClock(off: 0)
    }

    /// Each agent is asked for the page that maps change.
    private func open(_ sender: WorldClient) {
        for agent in agents {
            let number = numbers.withLock { numbers in
                numbers.command += 1
                return numbers.command
            }
            truth.withLock { $0.asks("c\(number)", agent.name) }
            let text =
                #"{"id":"c\#(number)","type":"open","url":"shop://where/fleet","from":"me","#
                + #""exp":\#(WallClock.now() + 60_000)}"#
            sender.publish(text, on: "waypost/v1/\(agent.name)/cmd/me", as: "c\(number)")
        }
    }

    /// A map with a page of its own, and a revision above all that were sent.
    func map(isGood: Bool = true) throws -> Relocation {
        let number = numbers.withLock { numbers in
            numbers.map += 1
            return numbers.map
        }
        let target = isGood ? "shop://at/fleet-\(number)" : "shop://broken/fleet-\(number)"
        return try Relocation.map(
            [RelocationEntry(.replace(origin: "shop://where/fleet", target: target))],
            revision: truth.withLock { $0.newest.revision } + Int64(number), by: "people")
    }

    private func send(_ backend: WorldBackend) {
        backend.perform("map") { [self] run in
            let answers = try await run.backend.group(FleetTruth.group).relocate(
                map(), allowing: [.unchecked, .inactive])
            return "\(answers.values.filter(\.isApplied).count) have it"
        }
    }

    /// Keeps the newest map in force, until its backend comes to its end.
    private func keep(_ backend: WorldBackend) {
        let document = truth.withLock(\.newestDocument)
        guard !document.isEmpty else { return }
        backend.perform("keeper", isEndless: true) { run in
            let wanted = try WantedMap(file: document, for: "@\(FleetTruth.group)", name: "the map")
            try await KeeperRun(run.backend.settings, [wanted]).run { _ in }
            return "ended"
        }
    }

    private func patch(_ backend: WorldBackend, _ agent: String) {
        backend.perform("patch") { run in
            let entry = RelocationEntry(.replace(origin: "shop://where/agent", target: "shop://at/patched"))
            return "\(try await run.backend.agent(agent).relocate([entry], allowing: [.unchecked]).isApplied)"
        }
    }

    private func change(
        _ backend: WorldBackend, _ agent: String, joins added: [String] = [], leaves removed: [String] = []
    ) {
        backend.perform("groups of \(agent)") { run in
            let change = GroupsChange(adding: added, removing: removed)
            let groups = try await run.backend.agent(agent).changeGroups(change)
            return "\(groups.groups ?? []), rev \(groups.revision ?? 0)"
        }
    }

    private func forge(_ kind: FleetForger.Kind, _ agent: String) {
        let topics = FleetTruth.topics
        let topic =
            switch kind {
            case .map: topics.map(of: .group(FleetTruth.group))
            case .candidate: topics.candidate(of: FleetTruth.group)
            case .groups: topics.groups(of: agent)
            }
        forger.withLock { forger in
            let revision = truth.withLock(\.newest.revision)
            guard let payload = forger?.document(kind, for: agent, over: revision) else { return }
            truth.withLock { $0.forges(payload) }
            forger?.publish(payload, on: topic)
        }
    }

    // MARK: Roll-outs

    private func rollOut(_ backend: WorldBackend, isGood: Bool, isCommand: Bool, without excluded: String?) {
        let id = numbers.withLock { numbers in
            numbers.rollout += 1
            return "r\(numbers.rollout)"
        }
        if let excluded { truth.withLock { $0.excludes(excluded, from: id) } }
        backend.perform("roll-out \(id)") { [self] run in
            let map = try map(isGood: isGood)
            var options = traits.options
            options.exclude = [excluded].compactMap(\.self)
            guard isCommand else {
                let group = run.backend.group(FleetTruth.group)
                return "\(try await group.rollOut(map, id: id, options))"
            }
            let prepared = try map.prepared(for: .group(FleetTruth.group), run.settings)
            guard let document = RolloutDirector.Document(prepared.payload) else { return "no document" }
            let controller = RolloutController(run.settings, group: FleetTruth.group, options)
            return "\(try await controller.run(.start(id: id, document, why: nil)))"
        }
    }

    private func rollOutUnlessOneIs(isGood: Bool = true) {
        guard truth.withLock({ $0.control?.state.isOver ?? true }) else { return }
        rollOut(backends[0], isGood: isGood, isCommand: true, without: nil)
    }

    private func steer(_ backend: WorldBackend, _ order: FleetDeed.Order) {
        backend.perform("\(order)") { [traits] run in
            let group = run.backend.group(FleetTruth.group)
            switch order {
            case .resume: return "\(try await group.resumeRollout(traits.options))"
            case .pause: return "\(try await group.pauseRollout(because: "people"))"
            case .takeBack: return "\(try await group.takeRolloutBack(because: "people"))"
            }
        }
    }
}
