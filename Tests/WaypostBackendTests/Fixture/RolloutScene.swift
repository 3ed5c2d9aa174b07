import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostAgent
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// A roll-out in simulated time: a crowd, a controller, and a broker in memory between them.
struct RolloutScene {
    static let noon: Int64 = 1_795_716_000_000

    let group = "lobby"
    let topics = Topics.standard
    var crowd: RolloutCrowd
    var director: RolloutDirector?
    var options = RolloutOptions()
    /// What the broker keeps.
    var retained: [String: MQTTMessage] = [:]
    private(set) var now = RolloutScene.noon
    /// All that controllers have published, leases not counted.
    private(set) var published: [MQTTMessage] = []
    private(set) var leases: [MQTTMessage] = []
    /// Called before and after each publish of the controller; true kills it.
    var kills: (_ number: Int, _ isBefore: Bool) -> Bool = { _, _ in false }
    private(set) var wasKilled = false
    /// How the last roll-out ended.
    private(set) var outcome: RolloutOutcome?
    private var nonce = 0
    private let progress = Progress()
    private let groupPrefix: String

    /// Shared by its copies: each of them is progress.
    private final class Progress {
        var patience = Patience()
    }

    static func map(_ revision: Int64, _ entries: [JSONValue] = []) -> [UInt8] {
        MapDocument.map(id: "m-\(revision)", revision: revision, entries: .array(entries), by: "release")
    }

    static let redirect: JSONValue = [
        "routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/demo1",
    ]

    init(_ count: Int, seed: UInt64 = 1, base: Int64? = 41) throws {
        groupPrefix = String(topics.rollout(of: group).dropLast("rollout".count))
        let map = base.map { Self.map($0) }
        let id = map.flatMap { RolloutDirector.Document($0)?.id }
        crowd = RolloutCrowd(count, base: id, seed: seed, topics: topics)
        // Short, for time that goes on in steps of a second.
        options.dwells = [.seconds(30), .seconds(20)]
        options.tail = .seconds(0)
        options.spread = .seconds(0)
        options.lease.quiet = 0
        if let map { keep(.json(topics.map(of: .group(group)), map, retain: true)) }
        for index in crowd.agents.indices { for message in crowd.birth(index, at: now) { publish(message) } }
    }

    // MARK: The broker

    private mutating func keep(_ message: MQTTMessage) {
        guard message.retain else { return }
        retained[message.topic] = message.payload.isEmpty ? nil : message
    }

    /// A message goes through the broker.
    mutating func publish(_ message: MQTTMessage) {
        var queue = [message]
        var place = 0
        while place < queue.count {
            guard !isInVain(place) else { return giveUp() }
            var next = queue[place]
            place += 1
            keep(next)
            next.retain = false
            director?.saw(next, at: now)
            // Only what is for the group concerns other agents.
            if next.topic.hasPrefix(groupPrefix) { queue += crowd.received(next, at: now) }
        }
    }

    /// The broker restarts: agents and the controller lose their connections and come back.
    mutating func restartBroker(losing topics: (String) -> Bool = { _ in true }, offline time: Int64 = 3_000)
    {
        director?.disconnected(at: now)
        for index in crowd.agents.indices where crowd.agents[index].isOnline {
            crowd.agents[index].isOnline = false
        }
        retained = retained.filter { !topics($0.key) }
        now += time
        for index in crowd.agents.indices { arrive(index) }
        for message in retained.values { director?.saw(message, at: now) }
        director?.reconnected(at: now)
        work()
    }

    /// An agent comes back, and gets what the broker keeps.
    mutating func arrive(_ index: Int) {
        for message in crowd.birth(index, at: now) { publish(message) }
        for topic in [topics.map(of: .group(group)), topics.rollout(of: group)] {
            guard let message = retained[topic] else { continue }
            for answer in crowd.received(message, only: index, at: now) { publish(answer) }
        }
    }

    // MARK: The controller

    mutating func start(
        _ revision: Int64 = 42, id: String = "r-7", entries: [JSONValue] = [RolloutScene.redirect]
    ) throws {
        let document = try required(RolloutDirector.Document(Self.map(revision, entries)))
        try begin(.start(id: id, document, why: nil), salt: id)
    }

    /// A controller that has read what the broker keeps.
    mutating func controller(
        _ name: String, salt: String, _ change: (inout RolloutOptions) -> Void = { _ in }
    ) -> RolloutDirector {
        nonce += 1
        var options = options
        change(&options)
        var fresh = RolloutDirector(
            group: group, salt: salt, topics: topics, options: options,
            holder: .init(name: name, nonce: "n\(nonce)"), wallOffset: 0, at: now)
        for message in retained.values.sorted(by: { $0.topic < $1.topic }) { fresh.saw(message, at: now) }
        fresh.foreseen = []
        return fresh
    }

    /// A controller comes, reads what the broker keeps, and begins.
    mutating func begin(_ order: RolloutDirector.Order, salt: String? = nil, name: String = "ops") throws {
        outcome = nil
        wasKilled = false
        var fresh = controller(name, salt: salt ?? control?.salt ?? "")
        try fresh.begin(order, at: now)
        director = fresh
        work()
    }

    /// Does what the controller wants done.
    private mutating func work() {
        var steps = 0
        while let step = director?.nextStep() {
            steps += 1
            guard !isInVain(steps) else { return giveUp() }
            switch step {
            case .publish(let message):
                let isCounted = message.topic != topics.lease(of: group)
                if isCounted, kills(published.count, true) { return kill() }
                publish(message)
                if isCounted {
                    published.append(message)
                    if kills(published.count - 1, false) { return kill() }
                } else {
                    leases.append(message)
                }
            case .ask(let agents): director?.resolved(crowd.answers(of: agents, at: now))
            }
            director?.done(step, at: now)
        }
        if let end = director?.outcome {
            outcome = end
            publish(MQTTMessage(topic: topics.lease(of: group), payload: [], retain: true))
            director = nil
        }
    }

    private mutating func kill() {
        director = nil
        wasKilled = true
        // Its will.
        publish(MQTTMessage(topic: topics.lease(of: group), payload: [], retain: true))
    }

    // MARK: Time

    /// Ends when the controller has published nothing for long, by the clock on the wall.
    mutating func advance(seconds: Double, step: Int64 = 1_000) {
        let end = now + Int64(seconds * 1_000)
        while now < end, director != nil {
            guard !progress.patience.isOver(at: published.count) else { return giveUp() }
            now += step
            for index in crowd.takeArrivals(at: now) { arrive(index) }
            for message in crowd.passed(step, at: now) { publish(message) }
            director?.advance(to: now)
            work()
        }
    }

    /// Whether a turn of a moment has come to more steps than a roll-out of this crowd can have in one.
    private func isInVain(_ steps: Int) -> Bool { steps > 100_000 + 100 * crowd.agents.count }

    private mutating func giveUp() {
        Issue.record(
            "nothing goes on: \(control.map { "\($0.state) in stage \($0.stage)" } ?? "no roll-out")")
        director = nil
    }

    /// Until the roll-out ends, or the time is over.
    mutating func run(seconds: Double = 3_600) { advance(seconds: seconds) }

    /// Until something is so, or the roll-out ends, or the time is over.
    mutating func run(
        seconds: Int = 3_600, until isSo: (RolloutScene) -> Bool,
        eachSecond: (inout RolloutScene) -> Void = { _ in }
    ) {
        for _ in 0..<seconds {
            guard director != nil, !isSo(self) else { return }
            eachSecond(&self)
            advance(seconds: 1)
        }
    }

    /// Why it is paused, as the control document says; nil when it is not.
    var paused: String? { control?.state == .paused ? control?.why : nil }

    /// Time goes by without anybody.
    mutating func wait(seconds: Double) { now += Int64(seconds * 1_000) }

    // MARK: What agents say

    /// An agent says that it is so, whatever is in force there.
    mutating func report(
        _ index: Int, _ place: RolloutReport.Place, _ reason: RolloutReport.Reason, opened: Int64 = 0,
        failed: Int64 = 0, order: RolloutControl.Order? = nil
    ) {
        guard let control else { return }
        let order = order ?? control.order
        var applied = AppliedMap()
        if let map = place == .next ? control.next : control.base {
            applied.layers = [.init(name: "@\(group)", revision: map.revision, digest: map.digest, at: now)]
        }
        applied.rollouts = [
            RolloutReport(
                layer: "@\(group)", id: control.id, epoch: order.epoch, sequence: order.sequence,
                place: place,
                reason: reason, opened: opened, failed: failed)
        ]
        publish(
            .json(topics.applied(of: crowd.agents[index].name), applied.encoded(), retain: true))
    }

    /// Each of these agents reports a failure of the map in force.
    mutating func fail(_ indices: some Sequence<Int>, _ code: Code) {
        for index in indices {
            publish(crowd.fail(index, code, crowd.url, "it failed", .router, at: now))
        }
    }

    /// The places of the agents that have the candidate.
    var withCandidate: [Int] { crowd.agents.indices.filter { crowd.isOnNext($0, at: now) } }

    // MARK: What is to be seen

    var control: RolloutControl? {
        retained[topics.rollout(of: group)].flatMap { crowd.controls.read($0.payload)?.control }
    }

    /// How many online agents have the candidate in force.
    var onNext: Int {
        crowd.agents.indices.count { crowd.agents[$0].isOnline && crowd.isOnNext($0, at: now) }
    }

    /// The revisions in force of the group's map, with how many agents have each.
    var revisions: [Int64: Int] {
        crowd.agents.indices.reduce(into: [:]) { counts, index in
            let agent = crowd.agents[index]
            let map = crowd.isOnNext(index, at: now) ? agent.member.control?.next : agent.base
            counts[map?.revision ?? 0, default: 0] += 1
        }
    }

    /// The entries of the audit that the broker keeps.
    var history: RolloutHistory { RolloutHistory(entries) }

    /// The same, held against the control document.
    var audit: RolloutHistory { RolloutHistory(entries, endingWith: control) }

    private var entries: [[UInt8]] {
        retained.filter { $0.key.hasPrefix(topics.rollout(of: group) + "/log/") }.map(\.value.payload)
    }

    /// What the controller has to say besides.
    var notices: [String] { director?.status(at: now)?.notices ?? [] }

    /// Puts something into a place of the audit's ring, or takes it away.
    mutating func write(_ payload: [UInt8], at slot: Int64) {
        publish(MQTTMessage(topic: topics.audit(of: group, slot: slot), payload: payload, retain: true))
    }
}

struct MissingValue: Error {}

func required<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw MissingValue() }
    return value
}
