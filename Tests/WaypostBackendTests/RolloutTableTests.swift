import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// Each gate in each stage of groups of each size, with and without traffic, in simulated time; and each gate by itself,
/// at its limit and next to it.
///
/// | The rule | Where it could be broken | Held by |
/// |---|---|---|
/// | "all of none" is no pass | a gate over an empty set: each property of `RolloutGates` | `over nobody no gate passes` |
/// | limits in agents shrink with the stage, down to one | `RolloutGates.limit` | `a gate breaks at its limit …` |
/// | what is near its limit is shown so | each `found` of `RolloutGates` | `a gate breaks at its limit …` |
/// | bad evidence is none for going on | `RolloutGates.areConclusive` | `what breaks a gate … goes no further` |
/// | a stage that adds nobody is not there | `RolloutStages`, for the plan and for the run | `each stage adds an agent …` |
@Suite(.timeLimit(.minutes(60)))
struct RolloutTableTests {
    static let counts = [1, 2, 3, 5, 20]

    /// Some agents, half, all; of which those are left out that would add nobody.
    private static let stages: [RolloutStage] = [
        .count(1), .count(5), .share(50_000), .share(RolloutStage.everyone),
    ]

    private func scene(_ count: Int, hasTraffic: Bool) throws -> RolloutScene {
        var scene = try RolloutScene(count)
        (scene.options.dwells, scene.options.limit) = ([.seconds(100)], nil)
        (scene.options.stages, scene.options.allowsNoTraffic) = (Self.stages, !hasTraffic)
        (scene.options.tail, scene.options.pauseLimit) = (.seconds(600), .seconds(5))
        (scene.crowd.weather.opens, scene.crowd.weather.failures) = (hasTraffic ? 60 : 0, 0)
        return scene
    }

    /// The places of the stages that a group of that size has.
    private func places(_ count: Int) throws -> [Int] {
        var scene = try scene(count, hasTraffic: false)
        try scene.start()
        let director = try required(scene.director)
        return RolloutStages(of: try required(director.control), in: director.fleet).entries.map(\.place)
    }

    @Test(arguments: counts, [true, false])
    func `what breaks a gate at all agents of a stage goes no further, in any stage of any group`(
        _ count: Int, _ hasTraffic: Bool
    ) throws {
        var good = try scene(count, hasTraffic: hasTraffic)
        try good.start()
        for place in try places(count) {
            good.run { $0.control?.stage == place && $0.onNext > 0 }
            let agents = good.withCandidate
            try #require(good.control?.stage == place && !agents.isEmpty, "\(good.outcome as Any)")
            let isCompared = place < Self.stages.count - 1 && agents.count > 1 && agents.count < count
            for breach in RolloutBreach.allCases {
                // Nobody is left to compare with, or one alone fails: their opens decide then.
                if breach == .failures, !isCompared { continue }
                // From here on each goes its own way.
                var scene = good
                // With each open an agent says that it has the map.
                if breach == .reports { scene.crowd.weather.opens = 0 }
                scene.run(seconds: 900) {
                    $0.control?.state != .running
                } eachSecond: {
                    try? breach.happen(at: agents, in: &$0)
                }
                let why = scene.control?.why ?? ""
                let here = "stage \(place): \(why)"
                #expect(scene.control?.stage == place, "\(here)")
                #expect(why.hasPrefix("\(breach.rawValue): "), "\(here)")
                let isPause = RolloutBreach.pausing.contains(breach) || agents.count == 1
                #expect(scene.control?.state == .paused || !isPause, "\(here)")
            }
        }
    }

    @Test(arguments: counts) func `each stage adds an agent, and the plan has the stages of the run`(
        _ count: Int
    ) throws {
        for stages in [Self.stages, RolloutStage.standard, [.share(10_000), .count(3), .count(200)]] {
            var scene = try scene(count, hasTraffic: true)
            scene.options.stages = stages
            try scene.start()
            let director = try required(scene.director)
            let plan = RolloutStages(of: try required(director.control), in: director.fleet)
            let entries = plan.entries
            #expect(entries.first?.place == 0)
            for (before, after) in zip(entries, entries.dropFirst()) {
                #expect(Set(before.agents).isStrictSubset(of: after.agents), "\(entries)")
            }
            // What is left out is said.
            let left = stages.indices.filter { place in !entries.contains { $0.place == place } }
            for place in left {
                #expect(plan.notices.contains { $0.contains("\(stages[place])") }, "\(plan.notices)")
            }
            guard entries.first?.agents.isEmpty == false else { continue }
            scene.run { $0.control?.state == .done }
            let run = scene.published.compactMap { try? RolloutControl($0.payload) }
                .filter { $0.state == .running && $0.below > 0 }
            #expect(run.map(\.stage) == entries.map(\.place), "\(stages)")
            #expect(run.map(\.below) == entries.map(\.below))
            #expect(scene.revisions == [42: count])
        }
    }

    // In a group of one the default stages were five of the same agent.
    @Test func `the default stages of small groups cost one dwell each that adds an agent`() throws {
        var times: [Int: Int64] = [:]
        for count in Self.counts {
            var scene = try scene(count, hasTraffic: true)
            (scene.options.stages, scene.options.dwells) = (RolloutStage.standard, [.seconds(100)])
            try scene.start()
            let began = scene.now
            scene.run { $0.control?.state == .done }
            times[count] = (scene.now - began) / 1_000
        }
        for count in [1, 2, 3, 5] { #expect((100..<110).contains(times[count] ?? 0), "\(times)") }
        // 5, 50 %, 100 %.
        #expect((300..<330).contains(times[20] ?? 0), "\(times)")
    }

    // MARK: Each gate by itself

    /// A gate that counts agents: how many are too many of a large cohort, and what makes one of them count.
    private struct Counting {
        var gate: RolloutBreach
        var limit: Int
        var hasNear = true
    }

    private static let counting = [
        Counting(gate: .candidate, limit: 1), Counting(gate: .guarded, limit: 2),
        Counting(gate: .notFound, limit: 3), Counting(gate: .health, limit: 2),
        Counting(gate: .lost, limit: 2),
    ]

    /// What a gate says when so many agents of a first stage of five of twenty, or of all of a smaller group, are bad.
    private func gate(_ breach: RolloutBreach, _ bad: Int, of count: Int) throws -> RolloutStatus.Gate {
        var scene = try RolloutScene(count)
        (scene.crowd.weather.opens, scene.crowd.weather.failures, scene.options.grace) = (0, 0, 0)
        (scene.options.stages, scene.options.dwells) = (
            [.count(5), .share(RolloutStage.everyone)], [.seconds(900)]
        )
        (scene.options.limit, scene.options.settling) = (nil, 0)
        try scene.start()
        // Somebody opened something that went well.
        for index in scene.withCandidate { scene.report(index, .next, .chosen, opened: 1) }
        for index in scene.withCandidate.prefix(bad) { try breach.happen(at: [index], in: &scene) }
        // What is lost has a moment to come back.
        let gates = try required(scene.director).gates(at: scene.now + 1)
        return try required(gates.first { $0.name == breach.rawValue })
    }

    @Test(arguments: [5, 20, 3, 2, 1])
    func `a gate breaks at its limit, says near next to it, and passes far from it`(_ count: Int) throws {
        for one in Self.counting {
            let limit = min(one.limit, count, 5)
            for bad in 0...min(count, 5) {
                let gate = try gate(one.gate, bad, of: count)
                let here = "\(bad) of \(count): \(gate)"
                if bad >= limit {
                    #expect(gate.verdict == .breach, "\(here)")
                    #expect(!gate.found.contains("near"), "\(here)")
                } else if bad > 0, bad + 1 == limit {
                    #expect(
                        gate.verdict == .inconclusive && gate.found.hasSuffix(", near the limit"), "\(here)")
                } else {
                    #expect(gate.verdict == .pass && !gate.found.contains("near"), "\(here)")
                }
            }
        }
    }

    @Test(arguments: [
        (0, 100, "pass"), (2, 100, "pass"), (3, 100, "near"), (5, 100, "near"), (6, 100, "breach"),
    ])
    func `opens break above 5 %, and are near from half of that on`(
        _ failed: Int64, _ opened: Int64, _ says: String
    )
        throws
    {
        var scene = try RolloutScene(20)
        (scene.crowd.weather.opens, scene.crowd.weather.failures, scene.options.limit) = (0, 0, nil)
        try scene.start()
        for index in scene.withCandidate {
            scene.report(index, .next, .chosen, opened: opened, failed: failed)
        }
        let gate = try required(scene.director?.gates(at: scene.now).first { $0.name == "opens" })
        #expect((gate.verdict == .breach) == (says == "breach"), "\(gate)")
        #expect(gate.found.contains("near the limit") == (says == "near"), "\(gate)")
    }

    @Test(arguments: [(0, 20, "pass"), (1, 20, "pass"), (2, 20, "near"), (3, 20, "breach")])
    func `reports break above 10 %, and are near from half of that on`(
        _ missing: Int, _ count: Int, _ says: String
    )
        throws
    {
        var scene = try RolloutScene(count)
        (scene.crowd.weather.opens, scene.crowd.weather.failures, scene.options.grace) = (0, 0, 0)
        scene.options.stages = [.share(RolloutStage.everyone)]
        try scene.start()
        for index in 0..<missing { scene.report(index, .base, .drifted) }
        let gate = try required(scene.director?.gates(at: scene.now + 1).first { $0.name == "reports" })
        #expect((gate.verdict == .breach) == (says == "breach"), "\(gate)")
        #expect(gate.found.contains("near the limit") == (says == "near"), "\(gate)")
    }

    @Test func `over nobody no gate passes`() throws {
        var scene = try RolloutScene(20)
        (scene.crowd.weather.opens, scene.crowd.weather.failures) = (0, 0)
        scene.crowd.weather.isCandidateLost = true
        scene.crowd.weather.isCandidateKept = false
        try scene.start()
        for gate in try required(scene.director).gates(at: scene.now) {
            #expect(gate.verdict == .inconclusive, "\(gate)")
        }
    }
}
