import MQTTLink
import Waypost
import WaypostAgent
import WaypostFleet
import WaypostMessages

/// Thousands of agents as one value: which messages they send when follows from the plan, the seed, the clock and what
/// comes in.
struct SimulatedFleet: Sendable {
    /// The interval of health, and how far it is off, in milliseconds.
    private static let healthInterval: Int64 = 30_000
    private static let healthJitter: Int64 = 3_000
    /// Where the numbers of processes begin.
    private static let firstProcess: Int64 = 400
    /// Events and failures that are kept of all agents together, and of one at least and at most.
    private static let keptOfAll = 20_000
    private static let keptOfOne = 20...500
    /// Replies that are kept of all agents together, and one of each at least.
    private static let keptReplies = 2_000
    /// How long what agents of one group made of a document is remembered, in milliseconds.
    private static let shared: Int64 = 1_000
    /// Changes that are remembered at most.
    private static let mostChanges = 1_000
    /// The revision that agents with the fault `map-refused` refuse.
    static let refusedRevision: Int64 = 11

    /// What agents with the same maps make of the same.
    struct Change: Sendable {
        enum Kind: Hashable {
            /// - clock: how far the agent's clock is off, for an `exp`.
            case document([UInt8], key: String, Audience, clock: Int64)
            case candidates([String])
            case withoutCandidates([String])
        }

        struct Key: Hashable {
            var maps: ObjectIdentifier
            var kind: Kind
        }

        /// Kept, or another could have its identity.
        var before: SimulatedMaps
        var after: SimulatedMaps
        var outcome = SimulatedMaps.Outcome.inForce
        /// The layers whose candidates do not fit.
        var refused: [String: Failure] = [:]
        var at: Int64
    }

    let plan: FleetPlan
    var agents: [SimulatedAgent]
    /// What is the same in all of them.
    private let limits: [String: JSONValue]
    let configuration: AgentConfiguration
    let redaction = Redaction()
    let commandRules: SimulatedCommands.Rules
    private let mapRules: MapDocument.Rules
    var schedule = FleetSchedule()
    /// Levels that were asked for, by agent.
    var overrides: [Int: LevelOverride] = [:]
    /// Recent events and failures by agent, the oldest first.
    var events: [Int: [LogEvent]] = [:]
    var failures: [Int: [FailureReport]] = [:]
    /// What agents hold of commands, of those that were sent one.
    var commands: [Int: SimulatedCommands] = [:]
    /// Those where some wait or run.
    var busy: Set<Int> = []
    /// The parts that agents have in roll-outs.
    var members: [Int: RolloutMembers] = [:]
    /// Those whose counts of opens are going to be published.
    var counting: Set<Int> = []
    /// The last document of each layer that came, for agents that are away: the broker keeps it for them.
    private var standing: [Audience: [UInt8]] = [:]
    /// Roll-outs, by layer.
    var rollouts: [String: RolloutDocuments] = [:]
    private var changes: [Change.Key: Change] = [:]
    var chance: SeededChance
    /// 5 or 4.
    private var mqtt = 5
    /// How many agents have come.
    private(set) var arrived = 0

    private var kept: Int {
        min(max(Self.keptOfAll / plan.count, Self.keptOfOne.lowerBound), Self.keptOfOne.upperBound)
    }

    /// - Parameter directory: where the services of the demo keep their files.
    init(_ plan: FleetPlan, directory: String, at now: Int64) throws {
        self.plan = plan
        configuration = AgentConfiguration(
            agent: "simulated", stateDirectory: directory,
            link: MQTTLinkConfiguration(brokers: [BrokerURL(host: "127.0.0.1", port: 1883)], clientID: "s"))
        limits = configuration.limitsDocument
        mapRules = MapDocument.Rules(
            maximumBytes: configuration.limits.mapBytes, limits: configuration.limits.json, trusted: .none)
        commandRules = SimulatedCommands.Rules(
            configuration.limits, topics: plan.topics, redaction: redaction,
            kept: max(1, Self.keptReplies / plan.count))
        chance = SeededChance(seed: plan.seed, stream: 0)

        var faults = [SimulatedFault?](repeating: nil, count: plan.count)
        let troubled = Array(0..<plan.count).shuffled(using: &chance).prefix(plan.problemCount)
        for (number, index) in troubled.enumerated() {
            faults[index] = plan.faults[number % plan.faults.count]
        }
        let versions = Self.spread(plan.versions, over: plan.count).shuffled(using: &chance)

        var builds: [String: SimulatedBuild] = [:]
        var maps: [String: SimulatedMaps] = [:]
        agents = []
        agents.reserveCapacity(plan.count)
        for index in 0..<plan.count {
            let isOld = faults[index] == .oldVersion
            let version = isOld ? FleetPlan.oldVersion : versions[index]
            let groups = plan.group(index).map { [plan.groups[$0]] } ?? []
            let build =
                try builds[version] ?? SimulatedBuild(version: version, isOld: isOld, directory: directory)
            builds[version] = build
            let key = "\(version) \(groups.joined(separator: " "))"
            let none = try maps[key] ?? SimulatedMaps(build, groups: groups)
            maps[key] = none
            agents.append(
                SimulatedAgent(
                    none, faults[index], chance: SeededChance(seed: plan.seed, stream: UInt64(index) + 1)))
        }
        try layStandingMaps(at: now)
        for index in agents.indices where agents[index].fault == .mapRefused { refuseMap(index, at: now) }
        if plan.logRate > 0 { scheduleNext(.line, after: now) }
        if plan.failureRate > 0 { scheduleNext(.failure, after: now) }
        if plan.traffic > 0 { scheduleNext(.traffic, after: now) }
    }

    /// As many of each as its weight says.
    private static func spread(_ shares: [FleetPlan.Share], over count: Int) -> [String] {
        let total = max(1, shares.reduce(0) { $0 + $1.weight })
        var versions: [String] = []
        var weight = 0
        for share in shares {
            weight += share.weight
            let end = count * weight / total
            versions += Array(repeating: share.version, count: end - versions.count)
        }
        return versions
    }

    // MARK: Maps at the beginning

    /// Lays the map of the plan.
    ///
    /// - Throws: ``Failure`` when the agents refuse it.
    private mutating func layStandingMaps(at now: Int64) throws(Failure) {
        guard let map = plan.map else { return }
        for index in plan.members(of: map.audience) {
            let outcome = take(map.payload, in: layer(map.audience), for: map.audience, index, at: now)
            if case .refused(let failure, _, _) = outcome { throw failure }
        }
    }

    /// Has an agent refuse the map of its group: it makes a circle with the agent's own, or its revision was used.
    private mutating func refuseMap(_ index: Int, at now: Int64) {
        let audience = plan.group(index).map { Audience.group(plan.groups[$0]) } ?? .all
        func map(_ revision: Int64, from origin: String, to target: String) -> [UInt8] {
            MapDocument.map(
                id: "m-\(revision)", revision: revision,
                entries: [
                    [
                        "routerType": 1, "orginPath": .string("scheme://router/\(origin)"),
                        "targetPath": .string("scheme://router/\(target)"),
                    ]
                ], by: "release")
        }
        if agents[index].variant % 2 == 0 {
            _ = take(
                map(3, from: "demo2", to: "demo1"), in: SimulatedMaps.ownLayer,
                for: .agent(plan.name(index)), index, at: now)
        } else {
            _ = take(
                map(Self.refusedRevision, from: "demo3", to: "demo1"), in: layer(audience), for: audience,
                index, at: now)
        }
        _ = take(
            map(Self.refusedRevision, from: "demo1", to: "demo2"), in: layer(audience), for: audience, index,
            at: now)
    }

    func layer(_ audience: Audience) -> String {
        if case .agent = audience { SimulatedMaps.ownLayer } else { audience.description }
    }

    /// Gives an agent a document; those that have the same maps share what they make of it.
    mutating func take(
        _ payload: [UInt8], in key: String, for audience: Audience, _ index: Int, at now: Int64
    ) -> SimulatedMaps.Outcome {
        let agent = agents[index]
        let clock = agent.clock(at: now)
        let arrived = ArrivedMap(payload, on: key, for: audience)
        let rules = mapRules
        let change = change(
            agent.base, .document(arrived.digest, key: key, audience, clock: clock - now), at: now
        ) { base in
            let (after, outcome) = base.taking(
                arrived, at: clock, isClockCorrect: !agent.knowsItsClockIsWrong, rules)
            return Change(before: base, after: after, outcome: outcome, at: now)
        }
        guard agents[index].base !== change.after else { return change.outcome }
        agents[index].base = change.after
        // Another map of its own is in force; roll-outs lay their candidates over it.
        if members[index] == nil {
            agents[index].maps = change.after
        } else if arrived.candidateOf == nil {
            _ = decide(index, delayed: false, at: now)
        }
        return change.outcome
    }

    /// What follows of a change of maps: once for all that have them.
    mutating func change(
        _ maps: SimulatedMaps, _ kind: Change.Kind, at now: Int64, _ make: (SimulatedMaps) -> Change
    ) -> Change {
        let key = Change.Key(maps: ObjectIdentifier(maps), kind: kind)
        if let known = changes[key] { return known }
        if changes.count >= Self.mostChanges { changes = [:] }
        let change = make(maps)
        changes[key] = change
        return change
    }

    /// The entries of the map that the broker keeps for a group, or that was in force from the beginning.
    func standingEntries(_ key: String) -> [RelocationEntry] {
        let audience = Audience.group(String(key.dropFirst()))
        let payload = standing[audience] ?? plan.map.flatMap { $0.audience == audience ? $0.payload : nil }
        guard let payload, let json = try? JSONValue(parsing: payload, limits: .trustedFile) else {
            return []
        }
        return (try? MapDocument(map: json))?.entries ?? []
    }

    // MARK: Coming and going

    /// How many agents have a problem, by what it is.
    var problems: [SimulatedFault: Int] {
        agents.reduce(into: [:]) { counts, agent in
            if let fault = agent.fault { counts[fault, default: 0] += 1 }
        }
    }

    /// An agent is about to connect: its will.
    mutating func connecting(_ index: Int, at now: Int64) -> MQTTMessage {
        agents[index].epoch = max(agents[index].epoch + 1, now)
        return state(index, .will, at: now)
    }

    /// An agent is connected, for the first time or again.
    mutating func born(_ index: Int, mqtt: Int, at now: Int64) -> [FleetStep] {
        if !plan.hasOwnSessions { _ = connecting(index, at: now) }
        self.mqtt = mqtt
        let isFirst = agents[index].connects == 0
        if isFirst {
            agents[index].started = now
            arrived += 1
        }
        agents[index].connects &+= 1
        agents[index].isOnline = true
        let lost = AgentState.Cause(nil, "the broker ended the connection", at: agents[index].clock(at: now))
        var steps = [FleetStep.publish(state(index, .birth, last: isFirst ? nil : lost, at: now), by: index)]
        takeStanding(index, at: now)
        members[index]?.connected(isNewSession: true, at: now)
        takeStandingRollouts(index, at: now)
        steps.append(health(index, at: now))
        steps += documents(index)
        if !isFirst {
            steps += log(index, .info, "Agent", "online, MQTT \(mqtt == 4 ? "3.1.1" : "5")", at: now)
        }
        // Spread from the beginning, and not only after a while.
        scheduleHealth(
            index, after: now - Int64.random(in: 0...Self.healthInterval, using: &agents[index].chance))
        scheduleFault(index, after: now)
        return steps
    }

    /// The session that an agent shares is a new one.
    mutating func renewed(_ index: Int, mqtt: Int, at now: Int64) -> [FleetStep] {
        agents[index].isOnline ? born(index, mqtt: mqtt, at: now) : []
    }

    private mutating func scheduleFault(_ index: Int, after now: Int64) {
        let span: ClosedRange<Int64>? =
            switch agents[index].fault {
            case .lost: 1_000...6_000
            case .flapping: 5_000...40_000
            default: nil
            }
        guard let span else { return }
        let due = now + Int64.random(in: span, using: &agents[index].chance)
        schedule.add(.lost, of: index, at: due)
    }

    private mutating func takeStanding(_ index: Int, at now: Int64) {
        let group = plan.group(index).map { Audience.group(plan.groups[$0]) }
        for audience in [.all, group, .agent(plan.name(index))].compactMap(\.self) {
            guard let payload = standing[audience] else { continue }
            _ = take(payload, in: layer(audience), for: audience, index, at: now)
        }
    }

    private mutating func lost(_ index: Int, at now: Int64) -> [FleetStep] {
        guard agents[index].isOnline else { return [] }
        agents[index].isOnline = false
        if agents[index].fault == .flapping {
            let due = now + Int64.random(in: 2_000...8_000, using: &agents[index].chance)
            schedule.add(.returned, of: index, at: due)
        }
        return [
            plan.hasOwnSessions ? .drop(index) : .publish(state(index, .will, at: now), by: index)
        ]
    }

    /// All that are online say that they stop.
    mutating func goodbyes(at now: Int64) -> [FleetStep] {
        agents.indices.filter { agents[$0].isOnline }.map { index in
            agents[index].isOnline = false
            let why = AgentState.Cause(nil, "the simulation ended", at: agents[index].clock(at: now))
            return .publish(state(index, .shutdown, last: why, at: now), by: index)
        }
    }

    /// Takes all away that the broker keeps of an agent.
    func clearing(_ index: Int) -> [FleetStep] {
        let (topics, name) = (plan.topics, plan.name(index))
        var list = [
            topics.applied(of: name), topics.contract(of: name), topics.routes(of: name),
            topics.health(of: name), topics.state(of: name),
        ]
        if agents[index].hasOwnMap { list.insert(topics.map(of: .agent(name)), at: 0) }
        return list.map { .publish(MQTTMessage(topic: $0, payload: [], retain: true), by: index) }
    }

    // MARK: Time

    /// What the agents do by themselves until `now`.
    mutating func advance(to now: Int64) -> [FleetStep] {
        var steps: [FleetStep] = []
        while let entry = schedule.takeDue(at: now) {
            let index = Int(entry.agent)
            switch entry.event {
            case .health where agents[index].isReachable && agents[index].healthDue == entry.due:
                steps.append(health(index, at: entry.due))
                scheduleHealth(index, after: entry.due)
                if members[index]?.isSilent(agents[index].maps.layers, at: entry.due) == true {
                    steps += decide(index, delayed: true, at: entry.due)
                }
            case .health: break
            case .lost: steps += lost(index, at: entry.due)
            case .returned where plan.hasOwnSessions: steps.append(.connect(index))
            case .returned: steps += born(index, mqtt: mqtt, at: entry.due)
            case .line:
                if let index = anyone() { steps += line(index, SimulatedTexts.lines, at: entry.due) }
                scheduleNext(.line, after: entry.due)
            case .askedLine where isAskedForMore(index, at: entry.due):
                steps += line(index, SimulatedTexts.details + SimulatedTexts.lines, at: entry.due)
                schedule.add(
                    .askedLine, of: index,
                    at: entry.due + Int64.random(in: 300...1_500, using: &agents[index].chance))
            case .askedLine: overrides[index] = nil
            case .report: steps += publishReport(index)
            case .counts: steps += publishCounts(index)
            case .traffic:
                steps += traffic(at: entry.due)
                scheduleNext(.traffic, after: entry.due)
            case .failure:
                steps += failure(at: entry.due)
                scheduleNext(.failure, after: entry.due)
            }
        }
        for index in busy.sorted() { steps += perform(index, at: now) { $0.timePassed(at: $1) } }
        // A document that comes again later is one more decision; candidates are taken one by one as stages go.
        changes = changes.filter { change in
            if case .document(_, let key, _, _) = change.key.kind, MapRecord.group(ofCandidate: key) == nil {
                return now - change.value.at <= Self.shared
            }
            return true
        }
        return steps
    }

    /// Whether a sender asked for more lines, and the time of that is not over.
    private func isAskedForMore(_ index: Int, at now: Int64) -> Bool {
        overrides[index].map { agents[index].clock(at: now) < $0.until } ?? false
    }

    private mutating func scheduleHealth(_ index: Int, after now: Int64) {
        let jitter = Int64.random(in: -Self.healthJitter...Self.healthJitter, using: &agents[index].chance)
        agents[index].healthDue = now + Self.healthInterval + jitter
        schedule.add(.health, of: index, at: agents[index].healthDue)
    }

    /// The next line or failure of the fleet: at its rate, but not like a clock.
    private mutating func scheduleNext(_ event: FleetSchedule.Event, after now: Int64) {
        let mean =
            switch event {
            case .line: 1_000 / plan.logRate
            case .traffic: 60_000 / (plan.traffic * Double(plan.count))
            default: 60_000 / plan.failureRate
            }
        let pause = mean * Double.random(in: 0.2...1.8, using: &chance)
        schedule.add(event, of: -1, at: now + max(1, Int64(pause.rounded())))
    }

    /// Some agent that is there and not silent.
    mutating func anyone() -> Int? {
        for _ in 0..<8 {
            let index = Int.random(in: agents.indices, using: &chance)
            if agents[index].isReachable { return index }
        }
        return nil
    }

    // MARK: Documents

    private func state(
        _ index: Int, _ reason: AgentState.Reason, last: AgentState.Cause? = nil, at now: Int64
    ) -> MQTTMessage {
        let agent = agents[index]
        let state = AgentState(
            isOnline: reason == .birth, epoch: agent.epoch, boot: boot(index), reason: reason,
            agent: plan.name(index), version: agent.maps.build.version, mqtt: mqtt,
            at: reason == .will ? nil : agent.clock(at: now), last: last)
        return .retained(plan.topics.state(of: plan.name(index)), state.encoded())
    }

    /// Names the start of the agent's process.
    func boot(_ index: Int) -> String {
        var chance = SeededChance(seed: plan.seed, stream: ~UInt64(index))
        return Identifier.short(using: &chance)
    }

    func process(_ index: Int) -> Int64 { Self.firstProcess + Int64(index % 30_000) }

    private func health(_ index: Int, at now: Int64) -> FleetStep {
        .publish(
            .retained(
                plan.topics.health(of: plan.name(index)), health(index, at: now).json.serialized()),
            by: index)
    }

    /// What an agent publishes when another map is in force.
    func documents(_ index: Int) -> [FleetStep] {
        let name = plan.name(index)
        let documents = agents[index].maps.documents(of: name)
        return [
            .publish(.retained(plan.topics.routes(of: name), documents.routes), by: index),
            .publish(.retained(plan.topics.contract(of: name), documents.contract), by: index),
            applied(index),
        ]
    }

    func applied(_ index: Int, at now: Int64 = 0) -> FleetStep {
        let name = plan.name(index)
        var applied = agents[index].maps.applied(by: name).cut(to: configuration.limits.packetBytes)
        applied.rollouts = reports(index, at: now)
        return .publish(.retained(plan.topics.applied(of: name), applied.encoded()), by: index)
    }

    func health(_ index: Int, at now: Int64) -> Health {
        let agent = agents[index]
        let name = plan.name(index)
        let (clock, since) = (agent.clock(at: now), agent.clock(at: agent.started))
        let (received, duplicates, rejected) = commands[index]?.counters ?? (0, 0, 0)
        let ended = (commands[index]?.counts ?? [:]).map { ($0.key.rawValue, JSONValue.int($0.value)) }
        let override = overrides[index].flatMap { clock < $0.until ? $0 : nil }
        var opens: [JSONValue] = []
        if agent.opened > 0 || agent.unopened > 0 {
            opens.append([
                "route": "scheme://router/demo", "opened": .int(Int64(agent.opened)),
                "failed": .int(Int64(agent.unopened)), "intercepted": 0,
                "ms": ["p50": 1.024, "p99": .double(agent.variant % 4 == 0 ? 32.768 : 4.096)],
            ])
        }
        var health = Health()
        health.agent = name
        health.version = agent.maps.build.version
        health.groups = plan.group(index).map { [plan.groups[$0]] } ?? []
        health.boot = boot(index)
        health.epoch = agent.epoch
        health.at = clock
        health.uptime = max(0, now - agent.started)
        health.mqtt = Int64(mqtt)
        health.broker = plan.broker
        health.checks = checks(index, at: clock, since: since)
        health.counters = [
            "connects": .int(Int64(agent.connects)), "received": .int(received),
            "duplicates": .int(duplicates), "refused": .int(rejected),
            "badTraces": 0,
            "ended": .object(Dictionary(uniqueKeysWithValues: ended)),
            "events": .int(Int64(agent.sequence)), "eventsDropped": 0, "publishesRefused": 0,
            "messagesDropped": 0, "messagesSkipped": 0, "reportsDropped": 0,
        ]
        health.waiting = ["commands": 0, "outbox": 0, "refused": 0, "gates": []]
        health.log = ["level": "i", "override": override?.json ?? .null]
        health.map = MapSummary(agent.maps.applied(by: name))
        health.opens = opens
        health.limits = limits
        return health
    }

    private func checks(_ index: Int, at clock: Int64, since: Int64) -> [HealthCheck] {
        let agent = agents[index]
        var problem: (name: String, detail: String)?
        if agent.fault == .red {
            problem = SimulatedTexts.problems[Int(agent.variant) % SimulatedTexts.problems.count]
        } else if agent.knowsItsClockIsWrong {
            let day = Timestamp.rfc3339(clock).prefix(10)
            problem = (
                "clock",
                "it shows \(day), which is before this version was built; commands and maps with exp are refused"
            )
        }
        let expired = agent.knowsItsClockIsWrong ? [] : agent.maps.layers.expired(at: clock).map(\.name)
        return SimulatedTexts.checks.map { name, ok in
            var found = problem?.name == name ? problem?.detail : nil
            if name == "map", !expired.isEmpty {
                found = "its exp passed: \(expired.joined(separator: ", "))"
            }
            let link = "connected to \(plan.broker), MQTT \(mqtt == 4 ? "3.1.1" : "5")"
            var check = HealthCheck(name, problem: found, ok: name == "link" ? link : ok)
            check.since = since
            return check
        }
    }

    // MARK: Changes

    /// A document came on a topic of a map: agents that are away get it when they come back.
    mutating func keep(_ payload: [UInt8], for audience: Audience) { standing[audience] = payload }

    /// Adds to what is kept of an agent, and forgets the oldest.
    mutating func remember<Element>(
        _ element: Element, of index: Int, in list: WritableKeyPath<Self, [Int: [Element]]>
    ) {
        self[keyPath: list][index, default: []].append(element)
        let surplus = (self[keyPath: list][index]?.count ?? 0) - kept
        // Not one by one: each time all others would move.
        if surplus > kept { self[keyPath: list][index]?.removeFirst(surplus) }
    }
}

/// What a simulated fleet wants done.
enum FleetStep: Sendable {
    case publish(MQTTMessage, by: Int)
    /// An open, a call or a move, which takes its time: ``SimulatedFleet/ended(_:_:at:)`` follows.
    case run(SimulatedCommand)
    /// Ends the work on a command.
    case cancel(SimulatedCommand.Key)
    /// Makes the agent's own session; ``SimulatedFleet/born(_:mqtt:at:)`` follows.
    case connect(Int)
    /// Ends the agent's own session without a goodbye: the broker publishes the will.
    case drop(Int)
}

/// An open, a call or a move that a simulated agent carries out.
struct SimulatedCommand: Sendable {
    /// What tells it from others that run.
    struct Key: Hashable, Sendable {
        var agent: Int
        var sequence: Int64
    }

    var agent: Int
    /// The agent's name.
    var name: String
    var turn: SimulatedCommands.Turn
    /// Those under which it runs.
    var maps: SimulatedMaps

    var key: Key { Key(agent: agent, sequence: turn.sequence) }
}
