import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// What is left of the roll-out before says nothing of the next one; who is excluded takes no part; and what a newer peer
/// says is shown.
@Suite(.timeLimit(.minutes(60)))
struct RolloutRemainsTests {
    /// Where something of the one before could be left.
    enum Left: String, CaseIterable, Sendable {
        case failures, notFound, counts, guarded, refused, lost, canaries, notices
    }

    private func quiet(_ count: Int = 20) throws -> RolloutScene {
        var scene = try RolloutScene(count)
        (scene.crowd.weather.opens, scene.crowd.weather.failures) = (0, 0)
        (scene.options.dwells, scene.options.allowsNoTraffic, scene.options.limit) = (
            [.seconds(10)], true, nil
        )
        scene.options.stages = [.count(5), .share(50_000), .share(RolloutStage.everyone)]
        return scene
    }

    /// A roll-out of 42 that has ended well, or was taken back.
    private func ended(well isGood: Bool) throws -> RolloutScene {
        var scene = try quiet()
        try scene.start()
        if !isGood {
            scene.run { $0.onNext == 5 }
            scene.fail(scene.withCandidate, .noRoute)
        }
        scene.run()
        #expect(scene.control?.state == (isGood ? .done : .takenBack), "\(scene.outcome as Any)")
        return scene
    }

    @Test(arguments: [true, false])
    func `the next map is in force stage by stage, however the one before ended`(_ isGood: Bool) throws {
        var scene = try ended(well: isGood)
        let base: Int64 = isGood ? 42 : 41
        try scene.start(43, id: "r-8")
        for chosen in [5, 10, 20] {
            scene.run { $0.onNext >= chosen || $0.control?.state == .promoting }
            #expect(scene.onNext >= chosen || scene.revisions[43] == 20, "\(scene.revisions)")
            #expect(scene.revisions.keys.allSatisfy { [base, 43].contains($0) }, "\(scene.revisions)")
        }
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [43: 20], "\(scene.outcome as Any)")
    }

    @Test func `a newer map that somebody sent while there was no connection is not replaced`() throws {
        var scene = try quiet()
        try scene.start()
        scene.run { $0.onNext == 5 }
        let topic = scene.topics.map(of: .group("lobby"))
        let newer = MQTTMessage(topic: topic, payload: RolloutScene.map(50), retain: true)
        scene.retained[topic] = newer
        scene.restartBroker(losing: { _ in false })
        #expect(scene.control?.state == .paused)
        scene.run(seconds: 60)
        #expect(scene.retained[topic]?.payload == newer.payload)
    }

    @Test(arguments: Left.allCases, [true, false])
    func `what agents said of the one before does not count in the next`(_ left: Left, _ isGood: Bool) throws
    {
        var scene = try ended(well: isGood)
        let before = try #require(scene.control)
        let late = { (scene: inout RolloutScene) throws in
            for index in scene.crowd.agents.indices.prefix(10) {
                let name = scene.crowd.agents[index].name
                func applied(_ place: RolloutReport.Place, _ reason: RolloutReport.Reason, opened: Int64 = 0)
                {
                    var applied = AppliedMap()
                    applied.layers = [
                        .init(
                            name: "@lobby", revision: before.base?.revision,
                            digest: before.base?.digest ?? "", at: 1)
                    ]
                    applied.rollouts = [
                        RolloutReport(
                            layer: "@lobby", id: before.id, epoch: before.epoch, sequence: before.sequence,
                            place: place, reason: reason, opened: opened, failed: opened)
                    ]
                    scene.publish(.json(scene.topics.applied(of: name), applied.encoded(), retain: true))
                }
                func fail(_ code: Code) {
                    scene.publish(
                        scene.crowd.fail(
                            index, code, scene.crowd.url, "late", .router, map: before.next, at: scene.now))
                }
                switch left {
                case .failures: for _ in 0..<5 { fail(.handlerFailed) }
                case .notFound: fail(.noRoute)
                case .counts: applied(.next, .chosen, opened: 500)
                case .guarded: applied(.base, .guarded)
                case .refused: applied(.base, .refused)
                case .lost:
                    for message in scene.crowd.lose(index) { scene.publish(message) }
                    scene.arrive(index)
                case .canaries:
                    scene.director?.resolved([
                        CanaryAnswer(agent: name, inForce: before.next, differences: ["it leads elsewhere"])
                    ])
                case .notices: applied(.next, .chosen)
                }
            }
        }
        // What is on its way comes before the next begins, and after it.
        try late(&scene)
        try scene.start(43, id: "r-8")
        scene.advance(seconds: 1)
        try late(&scene)
        let director = try #require(scene.director)
        let gates = director.gates(at: scene.now)
        #expect(!gates.contains { $0.verdict == .breach }, "\(gates)")
        #expect(director.evidence.comparison.cohort.events == 0 && director.evidence.allOpens.opened == 0)
        #expect(director.evidence.guarded.isEmpty && director.evidence.refused.isEmpty)
        #expect(scene.notices.isEmpty, "\(scene.notices)")
        // Each says again what is so.
        for index in scene.crowd.agents.indices {
            scene.publish(scene.crowd.applied(index, at: scene.now))
        }
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [43: 20], "\(scene.outcome as Any)")
    }

    @Test func `one that went back by itself in the one before takes part in the next`() throws {
        var scene = try quiet()
        scene.options.limit = .init(failures: 3, share: 50, within: 60_000)
        (scene.crowd.weather.opens, scene.crowd.weather.failing) = (60, 1)
        scene.crowd.weather.code = .handlerFailed
        try scene.start()
        scene.run()
        #expect(scene.control?.state == .takenBack, "\(scene.outcome as Any)")
        scene.crowd.weather.failing = 0
        try scene.start(43, id: "r-8")
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [43: 20], "\(scene.outcome as Any)")
    }

    // MARK: A map by hand

    // What heals a broker that forgets put the older map back, and a promotion did.
    @Test func `a newer map that somebody sent meanwhile is never replaced`() throws {
        let topic = Topics.standard.map(of: .group("lobby"))
        func revision(_ scene: RolloutScene) -> Int64? {
            scene.retained[topic].flatMap { RolloutDirector.Document($0.payload)?.id.revision }
        }
        for isDuringPromotion in [false, true] {
            var scene = try quiet()
            scene.options.pauseLimit = .seconds(600)
            // One that never has it keeps the promotion from its end.
            if isDuringPromotion { scene.crowd.agents[19].base?.revision = 99 }
            try scene.start()
            scene.run { isDuringPromotion ? $0.control?.state == .promoting : $0.onNext == 5 }
            scene.publish(.json(topic, RolloutScene.map(50), retain: true))
            scene.advance(seconds: 2)
            #expect(scene.paused?.contains("another map, rev 50") == true, "\(scene.paused ?? "")")
            // The connection comes and goes, and an agent says that it has none.
            scene.restartBroker(losing: { _ in false })
            scene.advance(seconds: 10)
            var wish = AppliedMap()
            wish.isWanted = true
            scene.publish(.json(scene.topics.applied(of: "kiosk-1"), wish.encoded(), retain: true))
            scene.advance(seconds: 10)
            #expect(revision(scene) == 50)
            for order in [RolloutDirector.Order.resume, .advance, .promote] {
                var next = scene.controller("ops2", salt: "r-7")
                #expect(throws: BackendError.self) { try next.begin(order, at: scene.now) }
            }
            try scene.begin(.takeBack(why: "enough"))
            scene.run()
            #expect(scene.control?.state.isOver == true || scene.outcome != nil, "\(scene.outcome as Any)")
            #expect(revision(scene) == 50)
        }
    }

    // MARK: Exclusion

    @Test func `an excluded agent takes no part until the map is promoted, also where it is included`() throws
    {
        var scene = try quiet()
        try scene.start()
        let first = scene.crowd.agents[scene.withCandidate[0]].name
        scene = try quiet()
        (scene.options.exclude, scene.options.include) = ([first], [first, "kiosk-20"])
        try scene.start()
        let excluded = try #require(scene.crowd.agents.firstIndex { $0.name == first })
        scene.run {
            guard $0.control?.state == .running else { return true }
            #expect(!$0.withCandidate.contains(excluded))
            #expect(
                $0.director?.evidence.applied[first] == nil && $0.director?.evidence.answers[first] == nil)
            return false
        }
        // The others of the last stage had it.
        #expect(
            scene.published.compactMap { try? RolloutControl($0.payload) }.last { $0.state == .running }?
                .stage == 2)
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [42: 20])
    }

    // MARK: Newer peers

    @Test func `a reason that this version does not know is counted under its name`() throws {
        var scene = try quiet()
        try scene.start()
        scene.advance(seconds: 1)
        let index = scene.withCandidate[0]
        let name = scene.crowd.agents[index].name
        let control = try #require(scene.control)
        for (word, shown) in [("asleep", "asleep"), ("\u{1B}[2J", "other")] {
            let report: JSONValue = [
                "layer": "@lobby", "id": .string(control.id), "epoch": .int(control.epoch),
                "seq": .int(control.sequence), "in": "base", "why": .string(word), "opened": 0, "failed": 0,
            ]
            let applied: JSONValue = [
                "layers": [], "entries": 0, "inactive": [], "refused": .null, "rollout": report,
            ]
            scene.publish(.json(scene.topics.applied(of: name), applied.serialized(), retain: true))
            #expect(scene.director?.status(at: scene.now)?.notOnNext[shown] == 1, "\(word)")
        }
    }

    @Test func `a status of a newer controller is shown with what it says, and nothing good is read into it`()
        throws
    {
        let json = try JSONValue(
            parsing: """
                {"id":"r-7","group":"lobby","state":"dreaming","gates":[
                 {"name":"weather","verdict":"cloudy","found":"rain","limit":"none","breach":"umbrella"}]}
                """)
        let status = try RolloutStatus(json)
        #expect(status.state == "dreaming" && !status.isOver)
        #expect(status.gates.map(\.name) == ["weather"] && status.gates[0].verdict == .inconclusive)
        #expect(status.gates[0].found == "rain")
    }
}
