import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// One agent of twenty says what is not so: it stops a roll-out at most.
@Suite(.timeLimit(.minutes(60)))
struct RolloutLiarTests {
    /// What it says, each second anew.
    enum Lie: String, CaseIterable, Sendable {
        case endlessFailures, endlessSuccess, floodOfFailures, notFound, guarded, refused, drifted, silent
        case red, comesAndGoes, hugeNumbers, always, never, noise

        func tell(by index: Int, in scene: inout RolloutScene) {
            let largest = Fields.largestInteger
            switch self {
            case .endlessFailures: scene.report(index, .next, .chosen, opened: largest, failed: largest)
            case .endlessSuccess: scene.report(index, .next, .chosen, opened: largest)
            case .floodOfFailures: scene.fail(Array(repeating: index, count: 10), .handlerFailed)
            case .notFound: scene.fail(Array(repeating: index, count: 5), .noRoute)
            case .guarded: scene.report(index, .base, .guarded)
            case .refused: scene.report(index, .base, .refused)
            case .drifted: scene.report(index, .base, .drifted)
            case .silent: scene.publish(.json(topic(index, scene), AppliedMap().encoded(), retain: true))
            case .red:
                scene.crowd.agents[index].isRed = true
                for message in scene.crowd.birth(index, at: scene.now) { scene.publish(message) }
            case .comesAndGoes:
                for message in scene.crowd.lose(index) { scene.publish(message) }
                scene.arrive(index)
            case .hugeNumbers:
                scene.report(
                    index, .next, .chosen, opened: 1, order: .init(epoch: largest, sequence: largest))
                var applied = AppliedMap()
                applied.layers = [.init(name: "@lobby", revision: largest, digest: "sha256:x", at: 1)]
                scene.publish(.json(topic(index, scene), applied.encoded(), retain: true))
            case .always: scene.report(index, .next, .chosen)
            case .never: scene.report(index, .base, .notChosen)
            case .noise:
                for text in [
                    #"{"rollout":{"epoch":-1,"failed":-9,"id":"","in":"up","opened":9e99,"seq":1.5,"why":7}}"#,
                    #"{"layers":[{"layer":"@lobby","rev":-9223372036854775808}],"entries":9223372036854775807}"#,
                ] {
                    scene.publish(MQTTMessage(topic: topic(index, scene), payload: Array(text.utf8)))
                }
            }
        }

        private func topic(_ index: Int, _ scene: RolloutScene) -> String {
            scene.topics.applied(of: scene.crowd.agents[index].name)
        }
    }

    /// A roll-out beside which one agent lies from its beginning on: one of its first stage, or of its last.
    private func run(
        _ lie: Lie, isOfFirstStage: Bool, _ change: (inout RolloutScene) -> Void = { _ in }
    ) throws -> RolloutScene {
        var scene = try RolloutScene(20)
        (scene.options.dwells, scene.options.pauseLimit) = ([.seconds(10)], .seconds(5))
        scene.options.stages = [.count(5), .share(50_000), .share(RolloutStage.everyone)]
        scene.crowd.weather.opens = 12
        change(&scene)
        try scene.start()
        let first = scene.withCandidate
        let liar = try required(
            isOfFirstStage ? first.first : scene.crowd.agents.indices.first { !first.contains($0) })
        scene.run(seconds: 900) { _ in
            false
        } eachSecond: {
            lie.tell(by: liar, in: &$0)
        }
        return scene
    }

    @Test(arguments: Lie.allCases, [true, false])
    func `a good map is not taken back for what one says`(_ lie: Lie, _ isOfFirstStage: Bool) throws {
        let scene = try run(lie, isOfFirstStage: isOfFirstStage)
        switch scene.outcome {
        case .done?: break
        case .paused(let why)?:
            // One agent is too many for these, as their limits say.
            let mayPause = ["candidate: ", "reports: ", "promoted, and "].contains { why.hasPrefix($0) }
            #expect(mayPause, "\(why)")
        default: Issue.record("\(scene.outcome as Any)")
        }
        #expect(scene.history.isWhole && !scene.history.entries.contains { $0.event == "take-back" })
    }

    @Test(arguments: Lie.allCases, [true, false])
    func `a bad map is not promoted for what one says`(_ lie: Lie, _ isOfFirstStage: Bool) throws {
        let scene = try run(lie, isOfFirstStage: isOfFirstStage) {
            ($0.crowd.weather.failing, $0.options.limit) = (1, nil)
        }
        #expect(scene.outcome != .done)
        #expect(!scene.history.entries.contains { $0.event == "promote" })
        #expect(scene.revisions[42] ?? 0 <= 10, "\(scene.revisions)")
    }

    @Test(arguments: Lie.allCases)
    func `whatever one says, the next roll-out begins, and a take-back reaches all`(_ lie: Lie) throws {
        var scene = try RolloutScene(20)
        try scene.start()
        scene.advance(seconds: 2)
        let liar = scene.withCandidate[0]
        lie.tell(by: liar, in: &scene)
        try scene.begin(.takeBack(why: "enough"))
        scene.run(seconds: 200) { _ in
            false
        } eachSecond: {
            lie.tell(by: liar, in: &$0)
        }
        // All others are back; and where it says otherwise, that is said by name.
        #expect(scene.revisions == [41: 20])
        switch scene.outcome {
        case .takenBack(let why)?: #expect(why == "enough")
        case .paused(let why)?:
            #expect(why.contains("did not say to be back: \(scene.crowd.agents[liar].name)"), "\(why)")
        default: Issue.record("\(scene.outcome as Any)")
        }
        let epoch = try #require(scene.control?.epoch)
        try scene.start(43, id: "r-8")
        #expect(scene.control?.id == "r-8" && scene.control?.epoch == epoch + 1)
        scene.advance(seconds: 2)
        #expect(scene.onNext == 5)
    }

    @Test func `one that never says that it has the promoted map ends no watch over the others`() throws {
        for isBad in [false, true] {
            var scene = try RolloutScene(20)
            (scene.options.dwells, scene.options.allowsNoTraffic) = ([.seconds(5)], true)
            (scene.options.tail, scene.options.hold) = (.seconds(1_800), .seconds(60))
            scene.options.stages = [.share(RolloutStage.everyone)]
            try scene.start()
            scene.run { $0.control?.state == .promoting }
            func lie(_ scene: inout RolloutScene) { scene.report(7, .base, .drifted) }
            // Longer than a promotion is waited for.
            scene.run(seconds: 1_500, until: { _ in false }, eachSecond: lie)
            #expect(scene.outcome == nil && scene.control?.state == .promoting)
            if isBad { scene.fail([0, 1, 2], .noRoute) }
            scene.run(seconds: 5_000, until: { _ in false }, eachSecond: lie)
            // That it hangs is said in the end, by name; the others are where they should be.
            switch scene.outcome {
            case .paused(let why)?: #expect(!isBad && why.contains("kiosk-8"), "\(why)")
            case .takenBack(let why)?: #expect(isBad && why.hasPrefix("not-found"), "\(why)")
            default: Issue.record("\(scene.outcome as Any)")
            }
            #expect(scene.revisions[isBad ? 43 : 42] == 20, "\(scene.revisions)")
        }
    }

    @Test func `one that always wants its map, or floods, is no load for the others, and is named`() throws {
        var scene = try RolloutScene(20)
        scene.options.dwells = [.seconds(3_600)]
        try scene.start()
        scene.advance(seconds: 10)
        let liar = scene.crowd.agents[scene.withCandidate[0]].name
        let map = scene.topics.map(of: .group("lobby"))
        let published = scene.published.count { $0.topic == map }
        var applied = AppliedMap()
        applied.isWanted = true
        let wish = MQTTMessage.json(scene.topics.applied(of: liar), applied.encoded(), retain: true)
        for _ in 0..<100 {
            for _ in 0..<200 { scene.publish(wish) }
            scene.advance(seconds: 1)
        }
        // After 0, 5, 15, 35 and 75 s.
        let again = scene.published.count { $0.topic == map } - published
        #expect((1...6).contains(again), "\(again)")
        let notices = scene.notices.filter { $0.hasPrefix(liar) }
        #expect(notices == ["\(liar) sends more than is read of one agent; what is beyond is not read"])
        // What it says when it has calmed down is read again, and that it goes in any case.
        scene.publish(wish)
        for index in scene.crowd.agents.indices where scene.crowd.agents[index].name == liar {
            for message in scene.crowd.lose(index) { scene.publish(message) }
        }
        #expect(scene.director?.fleet.agents[liar]?.isOnline == false)
    }

    @Test func `what one wants while the broker is read takes the place of no newer map`() throws {
        var scene = try RolloutScene(20)
        try scene.start()
        scene.advance(seconds: 10)
        let topic = scene.topics.map(of: .group("lobby"))
        let newer = MQTTMessage.json(topic, RolloutScene.map(50), retain: true)
        var director = try #require(scene.director)
        director.disconnected(at: scene.now)
        scene.director = nil
        scene.publish(newer)
        // What is read first is what an agent wants.
        scene.director = director
        var applied = AppliedMap()
        applied.isWanted = true
        let name = scene.crowd.agents[0].name
        scene.publish(.json(scene.topics.applied(of: name), applied.encoded(), retain: true))
        let control = try #require(scene.retained[scene.topics.rollout(of: "lobby")])
        for message in [newer, control] { scene.director?.saw(message, at: scene.now) }
        scene.director?.reconnected(at: scene.now)
        scene.advance(seconds: 30)
        #expect(scene.paused == "another map, rev 50, is in force in @lobby")
        #expect(scene.retained[topic]?.payload == newer.payload)
    }

    @Test(arguments: [900, RolloutControl.longestJump + 2, RolloutControl.highest, Fields.largestInteger])
    func `an order that nobody gave is named, whatever its number, and ignored`(_ epoch: Int64) throws {
        var scene = try RolloutScene(20)
        scene.options.dwells = [.seconds(3_600)]
        try scene.start()
        scene.advance(seconds: 2)
        let order = try #require(scene.control?.order)
        let liar = scene.withCandidate[0]
        scene.report(
            liar, .next, .chosen, opened: epoch, failed: epoch, order: .init(epoch: epoch, sequence: epoch))
        scene.advance(seconds: 2)
        let name = scene.crowd.agents[liar].name
        #expect(
            scene.notices == [
                "\(name) claims epoch \(epoch), seq \(epoch), which no controller sent; it is ignored"
            ])
        #expect(scene.control?.order == order)
    }

    // MARK: Small fleets

    /// Each agent that gets it goes back by itself.
    @Test(arguments: [1, 2, 3, 5], [true, false])
    func `however small the group, a map with which no agent of the stage stays does not go on`(
        _ count: Int, _ allowsNoTraffic: Bool
    ) throws {
        for first in [RolloutStage.count(1), .share(RolloutStage.everyone)] {
            var scene = try RolloutScene(count)
            (scene.options.dwells, scene.options.allowsNoTraffic) = ([.seconds(10)], allowsNoTraffic)
            scene.options.stages = [first, .share(RolloutStage.everyone)]
            (scene.crowd.weather.opens, scene.crowd.weather.failing) = (60, 1)
            scene.crowd.weather.code = .handlerFailed
            try scene.start()
            scene.run()
            switch scene.outcome {
            case .takenBack(let why)?, .paused(let why)?:
                let gates = ["guard: ", "not-found: ", "failures: ", "opens: "]
                #expect(gates.contains { why.hasPrefix($0) }, "\(why)")
                if why.hasPrefix("guard") { #expect(why.contains("540 ROLLOUT_GUARD"), "\(why)") }
            default: Issue.record("\(scene.outcome as Any)")
            }
            #expect(scene.revisions == [41: count])
        }
    }

    @Test(arguments: [1, 2, 3, 5, 20])
    func `a good map goes to everyone in a group of any size`(_ count: Int) throws {
        var scene = try RolloutScene(count)
        scene.crowd.weather.opens = 60
        scene.options.stages = RolloutStage.standard
        try scene.start()
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [42: count], "\(scene.outcome as Any)")
    }
}
