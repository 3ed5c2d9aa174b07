import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// Whole roll-outs in simulated time.
@Suite(.timeLimit(.minutes(60)))
struct RolloutDirectorTests {
    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero])
    func `a time of any length is one that agents read, and none overflows`(_ time: Duration) {
        var options = RolloutOptions()
        (options.dwells, options.spread, options.hold, options.patience) = ([time], time, time, .max)
        #expect((0...RolloutControl.longest).contains(options.spread(among: 10)))
        #expect((1...RolloutControl.longest).contains(options.heldFor ?? 0))
        #expect(options.patience(of: 0) >= options.dwell(of: 0))
    }

    @Test func `a good map goes through its stages to everyone, and the control document is done`() throws {
        var scene = try RolloutScene(400)
        try scene.start()
        scene.run()
        #expect(scene.outcome == .done)
        #expect(scene.revisions == [42: 400])
        #expect(scene.control?.state == .done)
        #expect(scene.retained[scene.topics.candidate(of: "lobby")] == nil)
        #expect(scene.retained[scene.topics.lease(of: "lobby")] == nil)
        let events = scene.history.entries.map(\.event)
        // 1 % would add nobody to the first five.
        #expect(events == ["start", "stage", "stage", "stage", "stage", "promote", "done"])
        #expect(scene.history.isWhole)
        // Agents of a stage stay in all later ones.
        let below = scene.published.filter { $0.topic == scene.topics.rollout(of: "lobby") }
            .compactMap { try? RolloutControl($0.payload) }.filter { $0.state == .running }.map(\.below)
        #expect(below == below.sorted() && below.first == 0 && below.last == .max)
    }

    /// `WAYPOST_ROLLOUT_AGENTS` sets how many, for the night.
    @Test func `the same at very many agents`() throws {
        let count = Self.number("WAYPOST_ROLLOUT_AGENTS") ?? 500
        var scene = try RolloutScene(count)
        (scene.options.dwells, scene.crowd.weather.opens) = ([.seconds(10)], 0.2)
        try scene.start()
        scene.advance(seconds: 600, step: 2_000)
        #expect(scene.outcome == .done)
        #expect(scene.revisions == [42: count])
    }

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test(arguments: [Code.noRoute, .notAllowed])
    func `URLs that are not found take it back`(_ code: Code) throws {
        var scene = try RolloutScene(400)
        (scene.crowd.weather.failing, scene.crowd.weather.code) = (1, code)
        scene.options.limit = nil
        try scene.start()
        scene.run()
        guard case .takenBack(let why)? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(why.hasPrefix("not-found") || why.hasPrefix("opens"), "\(why)")
        #expect(scene.onNext == 0 && scene.revisions == [41: 400])
        #expect(scene.control?.state == .takenBack)
        #expect(scene.retained[scene.topics.candidate(of: "lobby")] == nil)
        // Few have ever had it.
        #expect(scene.control?.stage == 0)
        #expect(scene.history.entries.map(\.event).suffix(2) == ["take-back", "taken-back"])
    }

    @Test func `a slow rise of failures is found against those that run beside`() throws {
        var scene = try RolloutScene(2_000)
        (scene.crowd.weather.failures, scene.crowd.weather.worsening) = (0.5, 5)
        try scene.start()
        scene.run()
        guard case .takenBack(let why)? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(why.hasPrefix("failures: e "), "\(why)")
        #expect(scene.revisions == [41: 2_000])
        // Before half of the fleet had it.
        #expect(scene.control.map { $0.stage < 3 } == true)
    }

    @Test func `agents that die take it back`() throws {
        var scene = try RolloutScene(300)
        scene.crowd.weather.deaths = 0.5
        scene.options.dwells = [.seconds(90)]
        try scene.start()
        scene.run()
        guard case .takenBack(let why)? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(why.hasPrefix("lost"), "\(why)")
        #expect(scene.onNext == 0)
    }

    @Test func `agents that go back by themselves take it back for all`() throws {
        var scene = try RolloutScene(400)
        (scene.crowd.weather.failing, scene.crowd.weather.code) = (0.9, .handlerFailed)
        scene.crowd.weather.opens = 30
        scene.options.limit = .init(failures: 3, share: 50, within: 60_000)
        try scene.start()
        scene.run()
        guard case .takenBack? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(scene.onNext == 0)
    }

    @Test func `a version that refuses it pauses the roll-out, and those that have it keep it`() throws {
        var scene = try RolloutScene(300)
        scene.crowd.weather.refusing = "1.9.0"
        try scene.start()
        scene.run { $0.paused != nil }
        let why = try #require(scene.paused)
        #expect(why.hasPrefix("candidate: "), "\(why)")
        #expect(scene.onNext > 0)
        // Somebody decides; until then it is watched.
        scene.advance(seconds: 100)
        #expect(scene.outcome == nil && scene.onNext > 0)
    }

    @Test func `health that turns red pauses it`() throws {
        var scene = try RolloutScene(300)
        scene.crowd.weather.reddening = 0.8
        try scene.start()
        scene.run { $0.paused != nil }
        let why = try #require(scene.paused)
        #expect(why.hasPrefix("health: "), "\(why)")
    }

    @Test func `no traffic is neither good nor bad: it pauses, unless that is allowed`() throws {
        var scene = try RolloutScene(200)
        (scene.crowd.weather.opens, scene.crowd.weather.failures) = (0, 0)
        scene.options.pauseLimit = .seconds(30)
        try scene.start()
        scene.run()
        guard case .paused(let why)? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(why.hasPrefix("inconclusive: "), "\(why)")
        #expect(why.hasSuffix("is there traffic on the changed URLs?"), "\(why)")
        scene.options.allowsNoTraffic = true
        try scene.begin(.resume)
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test(arguments: [1, 10_000])
    func `from the breach to the last agent on the base it takes one message`(_ spread: Int64) throws {
        var scene = try RolloutScene(500)
        scene.options.spread = .milliseconds(spread)
        scene.crowd.weather.opens = 5
        try scene.start()
        // Half of them have it when it turns bad.
        scene.run { $0.control?.stage == 3 && $0.onNext >= 200 }
        #expect(scene.onNext >= 200, "\(scene.outcome as Any), \(scene.paused ?? "")")
        scene.options.limit = nil
        scene.crowd.weather.failing = 1
        let controls = scene.published.count { $0.topic == scene.topics.rollout(of: "lobby") }
        scene.run()
        guard case .takenBack? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(scene.onNext == 0)
        // Take back, and taken back.
        #expect(
            scene.published.count { $0.topic == scene.topics.rollout(of: "lobby") } == controls + 2)
        #expect(!scene.published.suffix(4).contains { $0.topic == scene.topics.map(of: .group("lobby")) })
    }

    /// `WAYPOST_ROLLOUT_SEEDS` sets how many, for the night; one in two hundred may be a false alarm.
    @Test func `good roll-outs raise hardly a false alarm`() throws {
        var alarms: [String] = []
        let count = Self.number("WAYPOST_ROLLOUT_SEEDS") ?? 5
        for seed in 1...UInt64(count) {
            var scene = try RolloutScene(150, seed: seed)
            scene.crowd.weather.failures = 0.3
            scene.crowd.weather.flapping = 0.02
            scene.options.stages = [.count(5), .share(10_000), .share(50_000), .share(100_000)]
            try scene.start(id: "r-\(seed)")
            scene.advance(seconds: 900, step: 2_000)
            if case .done? = scene.outcome { continue }
            alarms.append("seed \(seed): \(scene.outcome.map { "\($0)" } ?? "not ended")")
        }
        #expect(alarms.count * 200 <= count, "\(alarms)")
    }

    @Test func `who watches hears how each stage ended, before the next one begins`() throws {
        var scene = try RolloutScene(400)
        try scene.start()
        scene.run()
        var ends: [Int: RolloutStatus] = [:]
        var last: RolloutStatus?
        for message in scene.leases {
            guard let json = message.json, let lease = try? RolloutLease(json),
                let status = try lease.status.map({ try RolloutStatus($0) })
            else { continue }
            if let last, last.stage != status.stage { ends[last.stage] = last }
            last = status
        }
        #expect(ends.keys.sorted() == [0, 2, 3])
        for (stage, status) in ends {
            #expect(status.onNext == status.chosen && status.chosen == status.stages[stage].agents)
            #expect(status.gates.contains { $0.name == "reports" && $0.verdict == .pass })
        }
        #expect(last?.state == "done" && last?.onNext == 400)
    }

    /// The map before, and whether there is a key for it.
    enum MapBefore: CaseIterable { case signed, signedWithoutKey, unsigned, byAnother, byTrusted, forAnother }

    @Test(arguments: MapBefore.allCases)
    func `a signed map before comes again signed, and one of others not at all`(_ before: MapBefore) throws {
        var scene = try RolloutScene(300, base: nil)
        func key(_ byte: UInt8) throws -> SigningKey {
            try SigningKey(text: Base64.encode([UInt8](repeating: byte, count: 32)))
        }
        var signer = Signer(id: "release", key: try key(7))
        let other = Signer(id: "old", key: try key(9))
        if before == .byTrusted { signer.trust("old", try key(9).verifyingKey) }
        let plain = Relocation(document: RolloutScene.map(41), .map)
        let base =
            switch before {
            case .signed, .signedWithoutKey: try plain.signed(by: signer, for: .group("lobby")).payload
            case .unsigned: plain.payload
            case .byAnother, .byTrusted: try plain.signed(by: other, for: .group("lobby")).payload
            case .forAnother: try plain.signed(by: signer, for: .group("hall")).payload
            }
        let hasKey = before != .signedWithoutKey
        scene.publish(.json(scene.topics.map(of: .group("lobby")), base, retain: true))
        (scene.options.tail, scene.options.limit) = (.seconds(600), nil)
        try scene.start()
        if hasKey { scene.director?.signer = signer }
        scene.run { $0.control?.state == .done }
        #expect(scene.control?.state == .done, "\(scene.outcome as Any), \(scene.paused ?? "")")
        for index in 0..<10 {
            scene.publish(
                scene.crowd.fail(index, .noRoute, "scheme://router/demo", "gone", .router, at: scene.now))
        }
        scene.run()
        let map = try #require(scene.retained[scene.topics.map(of: .group("lobby"))])
        let document = try #require(RolloutDirector.Document(map.payload))
        if before == .signed || before == .byTrusted {
            guard case .takenBack? = scene.outcome else {
                Issue.record("\(scene.outcome as Any)")
                return
            }
            #expect(document.isSigned && document.id.revision == 43)
        } else {
            guard case .paused(let why)? = scene.outcome else {
                Issue.record("\(scene.outcome as Any)")
                return
            }
            let reason = hasKey ? "must not be signed again by release, 4" : "without a key to sign it"
            #expect(why.contains(reason) && document.id.revision == 42, "\(why)")
        }
    }

    @Test func `a breach in the tail brings the base's entries again, under a higher revision`() throws {
        var scene = try RolloutScene(300)
        scene.options.tail = .seconds(600)
        scene.options.limit = nil
        try scene.start()
        scene.run { $0.control?.state == .done }
        #expect(scene.control?.state == .done, "\(scene.outcome as Any), \(scene.paused ?? "")")
        #expect(scene.revisions == [42: 300])
        // Now its URLs fail; agents count them no more, but report them.
        for index in 0..<10 {
            scene.publish(
                scene.crowd.fail(index, .noRoute, "scheme://router/demo", "gone", .router, at: scene.now))
        }
        scene.run()
        guard case .takenBack? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(scene.revisions == [43: 300])
        let map = try #require(scene.retained[scene.topics.map(of: .group("lobby"))])
        #expect(RolloutDirector.Document(map.payload)?.entries == [])
    }
}
