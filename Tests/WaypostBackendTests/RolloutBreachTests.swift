import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// What each gate does, alone and beside others, in simulated time: a stage of five of twenty agents.
@Suite(.timeLimit(.minutes(60)))
struct RolloutBreachTests {
    /// Five of twenty agents have had the candidate for some seconds, and nothing happens by itself.
    private func scene(_ count: Int = 20, _ change: (inout RolloutScene) -> Void = { _ in }) throws
        -> RolloutScene
    {
        var scene = try RolloutScene(count)
        (scene.crowd.weather.opens, scene.crowd.weather.failures) = (0, 0)
        (scene.options.dwells, scene.options.limit) = ([.seconds(900)], nil)
        change(&scene)
        try scene.start()
        scene.advance(seconds: 5)
        return scene
    }

    private func isTakenBack(_ scene: RolloutScene, for breach: RolloutBreach) -> Bool {
        if case .takenBack(let why)? = scene.outcome { why.hasPrefix("\(breach.rawValue): ") } else { false }
    }

    @Test(arguments: RolloutBreach.pausing)
    func `a breach that pauses leaves the map where it is`(_ breach: RolloutBreach) throws {
        var scene = try scene()
        try breach.happen(at: Array(scene.withCandidate.prefix(3)), in: &scene)
        scene.run(seconds: 120) { $0.paused != nil }
        let why = try #require(scene.paused)
        #expect(why.hasPrefix("\(breach.rawValue): "), "\(why)")
        scene.advance(seconds: 100)
        #expect(scene.outcome == nil && scene.onNext == 5)
        #expect(scene.history.entries.map(\.event) == ["start", "stage", "pause"])
    }

    @Test(arguments: RolloutBreach.takingBack)
    func `a breach that takes back takes back from all`(_ breach: RolloutBreach) throws {
        var scene = try scene()
        try breach.happen(at: Array(scene.withCandidate.prefix(3)), in: &scene)
        scene.run(seconds: 120)
        #expect(isTakenBack(scene, for: breach), "\(scene.outcome as Any)")
        #expect(scene.onNext == 0)
        #expect(scene.history.entries.map(\.event) == ["start", "stage", "take-back", "taken-back"])
    }

    @Test(arguments: RolloutBreach.pausing, RolloutBreach.takingBack)
    func `what takes back is taken out of a pause, too`(_ first: RolloutBreach, _ second: RolloutBreach)
        throws
    {
        var scene = try scene()
        let agents = scene.withCandidate
        try first.happen(at: Array(agents.prefix(2)), in: &scene)
        scene.run(seconds: 120) { $0.paused != nil }
        #expect(scene.paused != nil)
        scene.advance(seconds: 20)
        try second.happen(at: Array(agents.suffix(3)), in: &scene)
        scene.run(seconds: 120)
        #expect(isTakenBack(scene, for: second), "\(scene.outcome as Any)")
        #expect(scene.onNext == 0)
        #expect(
            scene.history.entries.map(\.event) == ["start", "stage", "pause", "take-back", "taken-back"])
    }

    @Test(arguments: RolloutBreach.pausing, RolloutBreach.takingBack)
    func `of two at a time the one that takes back decides`(_ first: RolloutBreach, _ second: RolloutBreach)
        throws
    {
        for order in [[first, second], [second, first]] {
            var scene = try scene()
            // Both take a minute to be sure.
            if [.reports, .lost].contains(first) || second == .lost { scene.options.grace = 1_000 }
            let agents = scene.withCandidate
            for breach in order {
                try breach.happen(
                    at: Array(breach == first ? agents.prefix(2) : agents.suffix(3)), in: &scene)
            }
            scene.run(seconds: 120)
            #expect(isTakenBack(scene, for: second), "\(order): \(scene.outcome as Any)")
        }
    }

    @Test func `paused by a person who leaves, it ends; resumed, the gates go on`() throws {
        var scene = try scene()
        try scene.begin(.pause(why: "lunch"))
        scene.advance(seconds: 1)
        #expect(scene.outcome == .paused(why: "lunch") && scene.onNext == 5)
        try scene.begin(.resume)
        try RolloutBreach.guarded.happen(at: Array(scene.withCandidate.prefix(2)), in: &scene)
        scene.run()
        #expect(isTakenBack(scene, for: .guarded), "\(scene.outcome as Any)")
    }

    @Test func `a pause ends where no agent has the map any more, and at its limit`() throws {
        var scene = try scene()
        let agents = scene.withCandidate
        for index in agents { scene.report(index, .base, .drifted) }
        scene.run(seconds: 120)
        guard case .paused(let why)? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        // What agents said is the reason.
        #expect(why == "reports: 5 of 5 missing: 5 drifted; the limit is 10 %")

        var limited = try self.scene { $0.options.pauseLimit = .seconds(7) }
        try RolloutBreach.candidate.happen(at: limited.withCandidate, in: &limited)
        limited.run { $0.paused != nil }
        let began = limited.now
        limited.run()
        #expect(limited.now - began <= 8_000 && limited.control?.state == .paused)
    }

    @Test func `while it promotes, and after that, the gates go on`() throws {
        for isPromoted in [false, true] {
            var scene = try scene {
                ($0.options.tail, $0.options.allowsNoTraffic) = (.seconds(600), true)
                $0.options.dwells = [.seconds(5)]
                $0.options.stages = [.count(5), .share(RolloutStage.everyone)]
                // One that never has it keeps the promotion from its end.
                if !isPromoted {
                    $0.options.exclude = ["kiosk-4"]
                    $0.crowd.agents[3].base?.revision = 99
                }
            }
            scene.run { $0.control?.state == (isPromoted ? .done : .promoting) }
            scene.advance(seconds: 2)
            #expect(scene.control?.state == (isPromoted ? .done : .promoting))
            scene.fail([0, 1, 2], .noRoute)
            scene.run()
            #expect(isTakenBack(scene, for: .notFound), "\(scene.outcome as Any)")
            let map = try #require(scene.retained[scene.topics.map(of: .group("lobby"))])
            #expect(RolloutDirector.Document(map.payload)?.id.revision == 43)
            #expect(scene.revisions[42] == nil, "\(scene.revisions)")
        }
    }

    // MARK: Canaries

    /// Asks the canaries, and lets them answer that a URL leads elsewhere.
    private func canaries(
        _ change: (inout RolloutScene) -> Void
    ) throws -> (RolloutScene, RolloutStatus.Gate) {
        var scene = try scene()
        change(&scene)
        scene.advance(seconds: 3)
        let gates = scene.director?.gates(at: scene.now) ?? []
        return (scene, try #require(gates.first { $0.name == "resolve" }))
    }

    @Test func `a canary that went back answers by its old map: no evidence, and it counts for taking back`()
        throws
    {
        let base = try required(scene().control?.base)
        let (scene, gate) = try canaries { scene in
            let index = scene.withCandidate[0]
            scene.report(index, .base, .guarded)
            scene.director?.resolved([
                CanaryAnswer(
                    agent: scene.crowd.agents[index].name, inForce: base, differences: ["it leads elsewhere"])
            ])
        }
        #expect(scene.paused == nil && gate.verdict != .breach, "\(gate)")
        #expect(scene.director?.evidence.guarded.count == 1)
    }

    @Test func `an answer without its map is no evidence, for or against`() throws {
        let (scene, gate) = try canaries { scene in
            for name in scene.withCandidate.map({ scene.crowd.agents[$0].name }) {
                scene.director?.resolved([
                    CanaryAnswer(agent: name, inForce: nil, differences: ["it leads elsewhere"])
                ])
            }
        }
        #expect(scene.paused == nil && gate.verdict == .pass, "\(gate)")
        var old = try RolloutScene(20)
        old.crowd.weather.hidesMapInForce = true
        try old.start()
        old.advance(seconds: 20)
        let unknown = old.director?.gates(at: old.now).first { $0.name == "resolve" }
        #expect(unknown?.verdict == .inconclusive && unknown?.found == "no canary has answered")
    }

    @Test func `one that went back is asked no more, and another one in its place`() throws {
        var evidence = RolloutEvidence(at: 0)
        var scene = try scene()
        let agents = scene.withCandidate.map { scene.crowd.agents[$0].name }.sorted()
        let control = try required(scene.control)
        var fleet = try required(scene.director?.fleet)
        for name in agents {
            let agent = try required(fleet.agents[name])
            evidence.agentApplied(name, agent, before: nil, foreseen: [], at: 1)
        }
        #expect(evidence.takeCanaries(fleet) == Array(agents.prefix(3)))
        // Until they have answered no one else is asked.
        #expect(evidence.takeCanaries(fleet) == [])
        let index = try required(scene.crowd.agents.firstIndex { $0.name == agents[3] })
        scene.report(index, .base, .guarded)
        fleet = try required(scene.director?.fleet)
        evidence.canariesAnswered(
            [
                CanaryAnswer(agent: agents[0], inForce: control.next),
                CanaryAnswer(agent: agents[1], inForce: control.base),
            ], control.next)
        #expect(evidence.takeCanaries(fleet) == [agents[4]])
        evidence.canariesAnswered([], control.next)
        #expect(evidence.takeCanaries(fleet) == [])
        #expect(evidence.answers.keys.sorted() == [agents[0]])
    }
}
