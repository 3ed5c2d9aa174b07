import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostAgent
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// What may come between the beginning and the end of a roll-out.
@Suite(.timeLimit(.minutes(60)))
struct RolloutCaseTests {
    /// A roll-out in its third stage, of 10 %.
    private func scene(_ count: Int = 100, _ change: (inout RolloutScene) -> Void = { _ in }) throws
        -> RolloutScene
    {
        var scene = try RolloutScene(count)
        scene.options.dwells = [.seconds(20)]
        change(&scene)
        try scene.start()
        scene.run { $0.control?.stage == 2 || $0.paused != nil }
        let isRunning = scene.director != nil && scene.paused == nil
        try #require(isRunning, "\(scene.outcome as Any), \(scene.paused ?? "")")
        return scene
    }

    // MARK: The controller is killed

    @Test(arguments: [true, false])
    func `killed before or after any publish of a good roll-out, it is resumed and ends well`(
        _ isBefore: Bool
    ) throws {
        var publishes = 0
        var number = 0
        while true {
            var scene = try RolloutScene(20)
            scene.options.dwells = [.seconds(5)]
            scene.options.stages = [.count(5), .share(50_000), .share(100_000)]
            scene.crowd.weather.opens = 20
            scene.kills = { $0 == number && $1 == isBefore }
            try scene.start()
            scene.run()
            guard scene.wasKilled else {
                publishes = scene.published.count
                break
            }
            scene.kills = { _, _ in false }
            if let control = scene.control, !control.state.isOver {
                let epoch = control.epoch
                try scene.begin(.resume)
                if let director = scene.director { #expect(director.control?.epoch == epoch + 1) }
            } else if scene.control == nil {
                try scene.start(id: "r-8")
            }
            scene.run()
            #expect(scene.control?.state == .done, "publish \(number): \(scene.outcome as Any)")
            #expect(scene.revisions == [42: 20], "publish \(number)")
            // An entry may be missing that was to follow the kill, and none is wrong.
            #expect(scene.history.isWhole, "publish \(number): \(scene.history.faults)")
            number += 1
        }
        #expect(number == publishes && publishes > 12, "\(number) of \(publishes)")
    }

    @Test(arguments: [true, false])
    func `killed before or after any publish of a bad one, it is resumed and taken back`(_ isBefore: Bool)
        throws
    {
        var number = 0
        while true {
            var scene = try RolloutScene(20)
            scene.options.dwells = [.seconds(5)]
            (scene.crowd.weather.opens, scene.crowd.weather.failing) = (20, 1)
            scene.options.limit = nil
            scene.kills = { $0 == number && $1 == isBefore }
            try scene.start()
            scene.run()
            guard scene.wasKilled else { break }
            scene.kills = { _, _ in false }
            if let control = scene.control, !control.state.isOver {
                try scene.begin(.resume)
            } else if scene.control == nil {
                try scene.start(id: "r-8")
            }
            scene.run()
            #expect(scene.control?.state == .takenBack, "publish \(number): \(scene.outcome as Any)")
            #expect(scene.revisions == [41: 20], "publish \(number)")
            number += 1
        }
        #expect(number > 8, "\(number)")
    }

    // MARK: Two controllers

    @Test func `of two controllers the one with the larger lease goes on, and the other sees that`() throws {
        var scene = try scene()
        var first = try #require(scene.director)
        // Another one takes over without asking.
        try scene.begin(.resume, name: "ops2")
        let control = try #require(scene.control)
        #expect(control.epoch == 2 && control.author == "ops2")
        for message in scene.retained.values { first.saw(message, at: scene.now) }
        #expect(first.outcome == .superseded(by: "ops2"))
        #expect(first.nextStep() == nil)
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test func `what a controller that was replaced still publishes is refused by the agents`() throws {
        var scene = try scene()
        let first = try #require(scene.director?.control)
        try scene.begin(.resume, name: "ops2")
        var stale = first
        (stale.sequence, stale.state, stale.below) = (first.sequence + 50, .takingBack, 0)
        let before = scene.onNext
        scene.publish(.json(scene.topics.rollout(of: "lobby"), stale.encoded(), retain: true))
        #expect(scene.onNext == before)
        // The broker keeps the stale one until the controller sees it.
        scene.restartBroker(losing: { _ in false })
        #expect(scene.control?.epoch == 2)
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test func `a start beside a roll-out that runs, and one with its id, are refused`() throws {
        var scene = try scene()
        #expect(throws: BackendError.self) { try scene.start(43, id: "r-8") }
        try scene.begin(.takeBack(why: "enough"))
        scene.run()
        #expect(scene.outcome == .takenBack(why: "enough"))
        #expect(throws: BackendError.self) { try scene.start(43, id: "r-7") }
        #expect(throws: BackendError.self) { try scene.start(41, id: "r-8") }
        // The revision of a map that was taken back is free: it was never that of the group.
        try scene.start(42, id: "r-8")
        #expect(scene.control?.epoch == 3)
        scene.run()
        #expect(scene.outcome == .done)
    }

    // MARK: Agents come and go

    @Test func `offline at its stage: it has the candidate when it is back`() throws {
        var scene = try scene()
        let index = try #require(
            scene.crowd.agents.indices.first { scene.control?.chooses(scene.crowd.agents[$0].name) == false })
        for message in scene.crowd.lose(index) { scene.publish(message) }
        scene.run { $0.control?.stage == 4 }
        scene.arrive(index)
        #expect(scene.crowd.isOnNext(index, at: scene.now))
    }

    @Test func `offline at the take-back and after it: it goes back when it is there again`() throws {
        var scene = try scene()
        let index = try #require(
            scene.crowd.agents.indices.first { scene.crowd.isOnNext($0, at: scene.now) })
        for message in scene.crowd.lose(index) { scene.publish(message) }
        try scene.begin(.takeBack(why: "enough"))
        scene.run()
        #expect(scene.outcome == .takenBack(why: "enough"))
        // Alone it goes on with what it has.
        #expect(scene.crowd.isOnNext(index, at: scene.now))
        scene.arrive(index)
        #expect(!scene.crowd.isOnNext(index, at: scene.now))
        #expect(scene.crowd.agents[index].base?.revision == 41)
    }

    @Test func `offline from before the roll-out until after it is done: it has the new map as its own`()
        throws
    {
        var scene = try RolloutScene(100)
        for message in scene.crowd.lose(7) { scene.publish(message) }
        scene.options.dwells = [.seconds(10)]
        try scene.start()
        scene.run()
        #expect(scene.outcome == .done)
        scene.arrive(7)
        #expect(scene.crowd.agents[7].base?.revision == 42 && scene.crowd.agents[7].candidate == nil)
    }

    @Test func `back after two roll-outs: the newer one counts, and the older one says nothing any more`()
        throws
    {
        var scene = try scene(100)
        let index = try #require(
            scene.crowd.agents.indices.first { scene.crowd.isOnNext($0, at: scene.now) })
        for message in scene.crowd.lose(index) { scene.publish(message) }
        try scene.begin(.takeBack(why: "enough"))
        scene.run()
        try scene.start(43, id: "r-8")
        scene.run()
        #expect(scene.outcome == .done)
        scene.arrive(index)
        #expect(scene.crowd.agents[index].base?.revision == 43)
        #expect(!scene.crowd.isOnNext(index, at: scene.now))
    }

    @Test func `what agents said of the roll-out before says nothing of the next one`() throws {
        var scene = try scene(100)
        scene.run()
        #expect(scene.outcome == .done)
        try scene.start(43, id: "r-8")
        let status = scene.director?.status(at: scene.now)
        #expect(status?.onNext == scene.onNext)
        try scene.begin(.takeBack(why: "enough"))
        scene.advance(seconds: 2)
        #expect(scene.outcome == .takenBack(why: "enough"))
        #expect(scene.revisions == [42: 100])
    }

    @Test func `agents that come and go all the time stop nothing`() throws {
        var scene = try RolloutScene(400)
        scene.crowd.weather.flapping = 0.1
        scene.options.dwells = [.seconds(30)]
        try scene.start()
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test func `clocks that are an hour off, and failures that come late, change nothing`() throws {
        var scene = try scene()
        for index in scene.crowd.agents.indices {
            scene.crowd.agents[index].clockError = index % 2 == 0 ? 3_600_000 : -3_600_000
        }
        // Out of outboxes come failures of before: of the base, from agents that have the candidate now.
        let base = scene.crowd.agents[0].base
        for index in scene.crowd.agents.indices where scene.crowd.isOnNext(index, at: scene.now) {
            for _ in 0..<20 {
                scene.publish(
                    scene.crowd.fail(
                        index, .noRoute, "scheme://router/demo", "long ago", .router, map: base, at: scene.now
                    ))
            }
        }
        #expect(scene.director?.evidence.comparison.cohort.events ?? 0 < 5)
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test func `one that went back by itself stays so, and the fleet goes on`() throws {
        var scene = try scene()
        let index = try #require(
            scene.crowd.agents.indices.first { scene.crowd.isOnNext($0, at: scene.now) })
        for _ in 0..<5 { _ = scene.crowd.agents[index].member.count(failing: true, at: scene.now) }
        scene.publish(scene.crowd.applied(index, at: scene.now))
        #expect(!scene.crowd.isOnNext(index, at: scene.now))
        scene.run { $0.control?.state == .promoting }
        scene.run()
        #expect(scene.outcome == .done)
        // The promoted map is its own, whatever the guard said.
        #expect(scene.crowd.agents[index].base?.revision == 42)
    }

    @Test func `a stage of everyone has no control group, and ends by what agents count`() throws {
        var scene = try RolloutScene(50)
        scene.options.stages = [.share(100_000)]
        scene.crowd.weather.opens = 6
        try scene.start()
        scene.advance(seconds: 20)
        let gate = scene.director?.gates(at: scene.now).first { $0.name == "failures" }
        #expect(gate?.verdict == .inconclusive && gate?.found == "no control group")
        scene.run()
        #expect(scene.outcome == .done)
    }

    // MARK: Maps and brokers

    @Test func `a map by hand pauses it, and the agents have that map`() throws {
        var scene = try scene()
        scene.publish(.json(scene.topics.map(of: .group("lobby")), RolloutScene.map(50), retain: true))
        scene.run()
        guard case .paused(let why)? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(why.contains("rev 50"), "\(why)")
        #expect(scene.revisions == [50: 100])
    }

    @Test func `a broker that restarts and has forgotten all gets it again, and time stands still meanwhile`()
        throws
    {
        var scene = try scene()
        let control = try #require(scene.control)
        let onNext = scene.onNext
        scene.restartBroker()
        #expect(scene.control?.stage == control.stage)
        #expect(scene.retained[scene.topics.map(of: .group("lobby"))] != nil)
        #expect(scene.retained[scene.topics.candidate(of: "lobby")] != nil)
        #expect(scene.onNext == onNext)
        scene.advance(seconds: 1)
        #expect(scene.director?.status(at: scene.now)?.standstill == "the connection is a new one")
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test func `agents to which the broker gives no candidate get it again when they are chosen`() throws {
        var scene = try RolloutScene(200)
        scene.crowd.weather.isCandidateKept = false
        scene.options.stages = [.count(5), .share(100_000)]
        try scene.start()
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [42: 200])
        // Once at the start, once for those of each stage, and cleared at the end.
        #expect(scene.published.count { $0.topic == scene.topics.candidate(of: "lobby") } == 4)
    }

    @Test func `agents that stay silent get the candidate again a few times, not all the time`() throws {
        var scene = try RolloutScene(200)
        scene.crowd.weather.isCandidateKept = false
        scene.crowd.weather.isCandidateLost = true
        try scene.start()
        scene.run()
        guard case .paused? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        let candidates = scene.published.count { $0.topic == scene.topics.candidate(of: "lobby") }
        #expect((3...6).contains(candidates), "\(candidates)")
    }

    @Test func `a broker that brings an old control document back is put right`() throws {
        var scene = try scene()
        let topic = scene.topics.rollout(of: "lobby")
        let old = try #require(scene.published.first { $0.topic == topic })
        let newest = try #require(scene.control)
        let onNext = scene.onNext
        scene.restartBroker(losing: { $0 == topic })
        scene.retained[topic] = old
        scene.restartBroker(losing: { _ in false })
        #expect(scene.control.map { $0.order >= newest.order } == true)
        #expect(scene.onNext == onNext)
    }

    @Test func `when others are offline, too, it is the network: nobody is blamed`() throws {
        var scene = try scene()
        let stage = scene.control?.stage
        for index in scene.crowd.agents.indices where index % 2 == 0 {
            for message in scene.crowd.lose(index) { scene.publish(message) }
        }
        scene.advance(seconds: 300)
        #expect(scene.director?.isStandingStill(at: scene.now) == true)
        #expect(scene.control?.stage == stage && scene.outcome == nil)
    }

    @Test func `while the network is away agents hear from it, and after an hour it pauses`() throws {
        var scene = try scene {
            $0.options.hold = .seconds(90)
            $0.options.revertsWhenSilent = true
            $0.options.dwells = [.seconds(60)]
        }
        let chosen = Set(scene.withCandidate)
        for index in scene.crowd.agents.indices where index % 2 == 0 && !chosen.contains(index) {
            for message in scene.crowd.lose(index) { scene.publish(message) }
        }
        scene.advance(seconds: 3_500)
        #expect(scene.control?.state == .running && scene.director?.isStandingStill(at: scene.now) == true)
        // None of them went back for want of a word.
        #expect(Set(scene.withCandidate) == chosen && scene.onNext == chosen.count)
        scene.advance(seconds: 200)
        #expect(
            scene.paused?.contains("agents that were not chosen are offline, for 60 min") == true,
            "\(scene.paused ?? "")")
        #expect(Set(scene.withCandidate) == chosen)
    }

    @Test func `a connection that comes and goes stands still no longer than that`() throws {
        var scene = try RolloutScene(20)
        scene.options.dwells = [.seconds(60)]
        try scene.start()
        for _ in 0..<150 where scene.paused == nil {
            scene.restartBroker(losing: { _ in false })
            scene.advance(seconds: 28)
        }
        #expect(scene.paused == "the connection is a new one, for 60 min", "\(scene.paused ?? "")")
    }

    @Test func `an agent that has got no map has it sent again`() throws {
        var scene = try scene()
        let count = scene.published.count
        var applied = AppliedMap()
        applied.isWanted = true
        scene.advance(seconds: 6)
        scene.publish(.json(scene.topics.applied(of: "kiosk-3"), applied.encoded(), retain: true))
        scene.advance(seconds: 1)
        let again = Set(scene.published.dropFirst(count).map(\.topic))
        #expect(again.contains(scene.topics.map(of: .group("lobby"))))
        #expect(again.contains(scene.topics.rollout(of: "lobby")))
    }

    @Test func `agents hear from the controller before they would fall back`() throws {
        var scene = try scene {
            $0.options.hold = .seconds(9)
            $0.options.revertsWhenSilent = true
            $0.options.dwells = [.seconds(60)]
        }
        let onNext = scene.onNext
        scene.advance(seconds: 30)
        #expect(scene.onNext >= onNext && onNext > 0)
        // Without a controller they do.
        scene.wait(seconds: 10)
        #expect(scene.onNext == 0)
    }

    @Test func `the first map of a group is rolled out and taken back to none`() throws {
        var scene = try RolloutScene(100, base: nil)
        (scene.crowd.weather.failing, scene.options.limit) = (1, nil)
        try scene.start()
        scene.run()
        guard case .takenBack? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(scene.revisions == [0: 100])
    }

    @Test func `empty and foreign payloads on its topics change nothing`() throws {
        var scene = try scene()
        let control = scene.control
        for payload in ["", "{}", "[1]", "nonsense"] {
            scene.director?.saw(
                MQTTMessage(topic: scene.topics.candidate(of: "lobby"), payload: Array(payload.utf8)),
                at: scene.now)
            scene.director?.saw(
                MQTTMessage(topic: scene.topics.audit(of: "lobby", slot: 3), payload: Array(payload.utf8)),
                at: scene.now)
            scene.director?.saw(
                MQTTMessage(topic: scene.topics.state(of: "kiosk-9"), payload: Array(payload.utf8)),
                at: scene.now)
        }
        #expect(scene.control == control)
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test func `paused by hand and resumed, advanced and promoted by hand`() throws {
        var scene = try scene()
        try scene.begin(.pause(why: "lunch"))
        scene.run()
        #expect(scene.outcome == .paused(why: "lunch"))
        let onNext = scene.onNext
        try scene.begin(.resume)
        #expect(scene.control?.state == .running && scene.onNext == onNext)
        try scene.begin(.advance)
        #expect(scene.control?.stage == 3)
        try scene.begin(.promote)
        scene.run()
        #expect(scene.outcome == .done)
        #expect(scene.history.isWhole)
    }
}
