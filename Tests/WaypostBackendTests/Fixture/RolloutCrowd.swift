import MQTTLink
import TestSupport
import Waypost
import WaypostAgent
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// A document that was read last: to read the same one again, for each agent and each look, is much of what a scene costs.
final class ReadOnce<Value> {
    private let reading: ([UInt8]) -> Value?
    private var last: (payload: [UInt8], value: Value?)?

    init(_ reading: @escaping ([UInt8]) -> Value?) { self.reading = reading }

    func read(_ payload: [UInt8]) -> Value? {
        if let last, last.payload == payload { return last.value }
        let value = reading(payload)
        last = (payload, value)
        return value
    }
}

/// Agents in the least that a roll-out sees of them: each decides by the value that real agents decide by.
struct RolloutCrowd {
    /// One of them.
    struct Agent {
        let name: String
        let version: String
        var member: RolloutMember
        var isOnline = true
        var epoch: Int64 = 1
        /// The map in force of the group, and those that the agent has on its disk.
        var base: RolloutControl.MapID?
        var candidate: String?
        /// What it said last.
        var reported: RolloutMember.Choice?
        var isRed = false
        /// By how much its clock is off, in milliseconds.
        var clockError: Int64 = 0
        /// Whether its own map hides the URLs that the candidate changes.
        var isShadowed = false
    }

    /// What goes on among them.
    struct Weather {
        /// Failures a minute of each agent, whatever the map.
        var failures = 0.1
        /// How many times as many where the candidate is in force.
        var worsening = 1.0
        /// Opens a minute of each agent of URLs that the candidate changes.
        var opens = 2.0
        /// The part of these opens that fails under the candidate, and with which code.
        var failing = 0.0
        var code = Code.noRoute
        /// The part of agents that is lost after the change.
        var deaths = 0.0
        /// The version that refuses the candidate.
        var refusing: String?
        /// The part of agents that comes and goes each minute.
        var flapping = 0.0
        /// The part whose health fails after the change.
        var reddening = 0.0
        /// Whether the broker gives the candidate to an agent that is chosen after it was published.
        var isCandidateKept = true
        /// Whether it never arrives.
        var isCandidateLost = false
        /// What a canary says that differs from what was foretold.
        var differences: [String] = []
        /// Whether agents are too old to say under which map they answer.
        var hidesMapInForce = false
    }

    let group: String
    let topics: Topics
    var agents: [Agent]
    var weather = Weather()
    var chance: SeededGenerator
    /// The URL that failures are about.
    var url = "scheme://router/demo"
    /// Agents that come back, and when.
    private var returning: [(index: Int, at: Int64)] = []
    private var dying: [(index: Int, at: Int64)] = []
    private var written = (applied: AppliedMap(), payload: AppliedMap().encoded())
    /// What the group has retained, which each agent reads that comes.
    let controls = ReadOnce { payload in
        (try? RolloutControl(payload)).map { (control: $0, digest: SHA256.label(SHA256.digest(of: payload))) }
    }
    private let maps = ReadOnce { RolloutDirector.Document($0) }

    init(_ count: Int, group: String = "lobby", base: RolloutControl.MapID?, seed: UInt64, topics: Topics) {
        self.group = group
        self.topics = topics
        chance = SeededGenerator(seed: seed)
        agents = (0..<count).map { index in
            Agent(
                name: "kiosk-\(index + 1)", version: index % 10 == 0 ? "1.9.0" : "2.0.0",
                member: RolloutMember(agent: "kiosk-\(index + 1)"), base: base)
        }
    }

    private var key: String { "@\(group)" }

    // MARK: What they say

    /// All that an agent publishes when it connects.
    mutating func birth(_ index: Int, at now: Int64) -> [MQTTMessage] {
        agents[index].isOnline = true
        agents[index].epoch += 1
        return [state(index, .birth), health(index), applied(index, at: now)]
    }

    private func state(_ index: Int, _ reason: AgentState.Reason) -> MQTTMessage {
        let agent = agents[index]
        let state = AgentState(
            isOnline: reason == .birth, epoch: agent.epoch, boot: "b1", reason: reason, agent: agent.name,
            version: agent.version, mqtt: 5)
        return .json(topics.state(of: agent.name), state.encoded(), retain: true)
    }

    private func health(_ index: Int) -> MQTTMessage {
        let agent = agents[index]
        let json: JSONValue = [
            "groups": [.string(group)], "status": .string(agent.isRed ? "red" : "green"),
        ]
        return .json(topics.health(of: agent.name), json.serialized(), retain: true)
    }

    mutating func applied(_ index: Int, at now: Int64) -> MQTTMessage {
        let agent = agents[index]
        let choice = choice(index, at: now)
        var applied = AppliedMap()
        let isNext = choice?.isCandidateInForce == true
        if let map = isNext ? agent.member.control?.next : agent.base {
            applied.layers = [.init(name: key, revision: map.revision, digest: map.digest, at: now)]
        }
        if let choice, let report = agent.member.report(choice) { applied.rollouts = [report] }
        // Most agents say the same, and to write JSON is most of what a scene costs.
        if written.applied != applied { written = (applied, applied.encoded()) }
        return .json(topics.applied(of: agent.name), written.payload, retain: true)
    }

    private func choice(_ index: Int, at now: Int64) -> RolloutMember.Choice? {
        let agent = agents[index]
        return agent.member.choice(
            base: agent.base, candidate: agent.candidate, isRefused: agent.version == weather.refusing,
            at: now)
    }

    func isOnNext(_ index: Int, at now: Int64) -> Bool { choice(index, at: now)?.isCandidateInForce == true }

    /// What canaries answer.
    func answers(of names: [String], at now: Int64) -> [CanaryAnswer] {
        agents.indices.filter { names.contains(agents[$0].name) && agents[$0].isOnline }.map { index in
            let inForce = isOnNext(index, at: now) ? agents[index].member.control?.next : agents[index].base
            return CanaryAnswer(
                agent: agents[index].name, inForce: weather.hidesMapInForce ? nil : inForce,
                differences: weather.differences)
        }
    }

    // MARK: What comes

    /// A message of the broker's; which agents are online gets it.
    mutating func received(_ message: MQTTMessage, only: Int? = nil, at now: Int64) -> [MQTTMessage] {
        switch message.topic {
        case topics.rollout(of: group):
            let indices = receivers(only)
            guard let (control, digest) = controls.read(message.payload) else { return [] }
            return indices.flatMap { index -> [MQTTMessage] in
                do throws(Failure) {
                    _ = try agents[index].member.take(control, for: .group(group), digest: digest, at: now)
                } catch {
                    return [fail(index, error.code, nil, error.detail, .map, at: now)]
                }
                return decide(index, at: now)
            }
        case topics.map(of: .group(group)):
            guard let document = maps.read(message.payload) else { return [] }
            let indices = receivers(only)
            return indices.flatMap { index -> [MQTTMessage] in
                let known = agents[index].base
                guard document.id.revision ?? 0 > known?.revision ?? 0 else { return [] }
                agents[index].base = document.id
                return decide(index, at: now, isNew: true)
            }
        case topics.candidate(of: group):
            let id = RolloutDirector.Document(message.payload)?.id
            return receivers(only).flatMap { index -> [MQTTMessage] in
                guard !weather.isCandidateLost, choice(index, at: now)?.needsCandidate == true else {
                    return []
                }
                agents[index].candidate = id?.digest
                return decide(index, at: now)
            }
        default: return []
        }
    }

    private func receivers(_ only: Int?) -> [Int] {
        (only.map { [$0] } ?? Array(agents.indices)).filter { agents[$0].isOnline }
    }

    private mutating func decide(_ index: Int, at now: Int64, isNew: Bool = false) -> [MQTTMessage] {
        if weather.isCandidateKept, choice(index, at: now)?.needsCandidate == true {
            agents[index].candidate = agents[index].member.control?.next.digest
        }
        let choice = choice(index, at: now)
        let was = agents[index].reported
        agents[index].reported = choice
        guard choice != was || isNew else { return [] }
        if choice?.isCandidateInForce == true, was?.isCandidateInForce != true {
            if Double.random(in: 0..<1, using: &chance) < weather.deaths {
                dying.append((index, now + Int64.random(in: 500...10_000, using: &chance)))
            }
            if Double.random(in: 0..<1, using: &chance) < weather.reddening { agents[index].isRed = true }
        }
        return [applied(index, at: now)] + (agents[index].isRed ? [health(index)] : [])
    }

    // MARK: Time

    /// What they do by themselves.
    mutating func passed(_ time: Int64, at now: Int64) -> [MQTTMessage] {
        var messages: [MQTTMessage] = []
        for (index, at) in dying where at <= now { messages += lose(index) }
        dying.removeAll { $0.at <= now }
        for _ in 0..<events(weather.flapping, time) {
            let index = Int.random(in: agents.indices, using: &chance)
            guard agents[index].isOnline else { continue }
            messages += lose(index)
            returning.append((index, now + Int64.random(in: 2_000...20_000, using: &chance)))
        }
        for _ in 0..<events(weather.failures * max(1, weather.worsening), time) {
            let index = Int.random(in: agents.indices, using: &chance)
            guard agents[index].isOnline else { continue }
            // All happen at the higher rate, and those of the base are thinned out.
            let isKept =
                isOnNext(index, at: now)
                || Double.random(in: 0..<max(1, weather.worsening), using: &chance) < 1
            if isKept {
                messages.append(fail(index, .handlerFailed, "scheme://router/other", "", .router, at: now))
            }
        }
        for _ in 0..<events(weather.opens, time) { messages += open(at: now) }
        return messages
    }

    /// Those that come back by now.
    mutating func takeArrivals(at now: Int64) -> [Int] {
        defer { returning.removeAll { $0.at <= now } }
        return returning.filter { $0.at <= now }.map(\.index)
    }

    /// How many events at so many a minute of each agent: as chance has it.
    private mutating func events(_ rate: Double, _ time: Int64) -> Int {
        var left = rate * Double(agents.count) * Double(time) / 60_000
        var count = 0
        while left > 0 {
            if Double.random(in: 0..<1, using: &chance) < min(1, left) { count += 1 }
            left -= 1
        }
        return count
    }

    private mutating func open(at now: Int64) -> [MQTTMessage] {
        let index = Int.random(in: agents.indices, using: &chance)
        guard agents[index].isOnline, isOnNext(index, at: now), !agents[index].isShadowed else { return [] }
        let isFailing = Double.random(in: 0..<1, using: &chance) < weather.failing
        let goesBack = agents[index].member.count(failing: isFailing, at: now)
        var messages: [MQTTMessage] = []
        if isFailing { messages.append(fail(index, weather.code, url, "not there", .router, at: now)) }
        if goesBack {
            messages.append(fail(index, .rolloutGuard, nil, "went back", .map, at: now))
            messages += decide(index, at: now)
        }
        // Counts come with a later report; here with each open.
        return messages + [applied(index, at: now)]
    }

    mutating func lose(_ index: Int) -> [MQTTMessage] {
        guard agents[index].isOnline else { return [] }
        agents[index].isOnline = false
        return [state(index, .will)]
    }

    func fail(
        _ index: Int, _ code: Code, _ url: String?, _ detail: String, _ origin: FailureReport.Origin,
        map: RolloutControl.MapID? = nil, at now: Int64
    ) -> MQTTMessage {
        let agent = agents[index]
        var report = FailureReport(
            id: "f", code: code, origin: origin, url: url, detail: detail, at: now + agent.clockError)
        let inForce = map ?? (isOnNext(index, at: now) ? agent.member.control?.next : agent.base)
        report.map = inForce?.revision.map { FailureReport.MapInForce(layer: key, revision: $0) }
        return .json(topics.failures(of: agent.name), report.encoded())
    }
}
