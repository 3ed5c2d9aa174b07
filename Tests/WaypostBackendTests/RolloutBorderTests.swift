import MQTTLink
import TestSupport
import Testing
import WaypostMessages

@testable import WaypostBackend

/// How long a controller waits, and what it says meanwhile: in simulated time.
@Suite(.timeLimit(.minutes(60))) struct RolloutBorderTests {
    private func scene(_ change: (inout RolloutScene) -> Void = { _ in }) throws -> RolloutScene {
        var scene = try RolloutScene(5)
        (scene.options.limit, scene.options.dwells) = (nil, [.seconds(600)])
        scene.crowd.weather.failures = 0
        change(&scene)
        try scene.start()
        return scene
    }

    private func isControl(_ message: MQTTMessage, _ scene: RolloutScene) -> Bool {
        message.topic == scene.topics.rollout(of: scene.group)
    }

    @Test func `agents that do what they heard last hear it three times in that time`() throws {
        var scene = try scene { $0.options.hold = .seconds(90) }
        scene.advance(seconds: 300)
        // Two that begin it, and one each 31 s.
        #expect((10...12).contains(scene.published.count { isControl($0, scene) }))
    }

    @Test func `agents have the whole grace to say that they are back`() throws {
        // Not in a second in which it renews its lease: then it looks in the next one.
        var scene = try scene { $0.options.grace = 61_000 }
        scene.run { $0.onNext > 0 }
        try scene.begin(.takeBack(why: "no"))
        let began = scene.now
        scene.run(seconds: 200) { _ in
            false
        } eachSecond: {
            $0.report(0, .next, .chosen)
        }
        // By the second in which it looks.
        #expect(scene.director == nil && scene.control?.at == began + scene.options.grace + 1_000)
    }

    @Test func `where nobody is online a roll-out waits for a person, and goes on from there`() throws {
        var scene = try RolloutScene(0)
        scene.options.stages = [.count(1), .share(RolloutStage.everyone)]
        scene.options.allowsNoTraffic = true
        try scene.start()
        #expect(scene.paused == "no agent of @lobby is online for stage 1")
        #expect(scene.published.count { isControl($0, scene) } == 2)
        scene.crowd = try RolloutScene(5).crowd
        for index in scene.crowd.agents.indices { scene.arrive(index) }
        try scene.begin(.resume)
        scene.run { $0.control?.stage == 1 }
        #expect(scene.control?.state == .running && scene.control?.below == .max)
    }

    @Test func `of two decisions before either is published the later one is`() throws {
        let scene = try scene()
        var director = try required(scene.director)
        for why in ["one", "two"] { director.pause(why, at: scene.now) }
        var said: [String?] = []
        for _ in 0..<100 {
            guard let step = director.nextStep() else { break }
            if case .publish(let message) = step, isControl(message, scene) {
                said.append(try RolloutControl(message.payload).why)
            }
            director.done(step, at: scene.now)
        }
        #expect(said == ["two"])
    }

    @Test(arguments: [(1, "promoted, and 19 of 20 agents say"), (2, "18 of 20 agents say")])
    func `of those that do not say that they have the promoted map 5 % pause nothing`(
        _ count: Int, _ says: String
    ) throws {
        var scene = try RolloutScene(20)
        (scene.options.limit, scene.options.dwells) = (nil, [.seconds(1)])
        scene.crowd.weather.failures = 0
        try scene.start()
        scene.run { $0.control?.state == .promoting }
        let began = scene.now
        scene.run(seconds: 3_600) {
            $0.paused != nil
        } eachSecond: { scene in
            for index in 0..<count { scene.report(index, .base, .notChosen) }
        }
        #expect(scene.now > began + 10 * scene.options.grace)
        guard case .paused(let why)? = scene.outcome else {
            return #expect(count > 1 && scene.paused?.hasPrefix(says) == true, "\(scene.paused ?? "?")")
        }
        #expect(why.hasPrefix(says) && (scene.control?.state == .paused) == (count > 1), "\(why)")
    }
}
