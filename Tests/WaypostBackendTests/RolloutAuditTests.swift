import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend

/// The end of the audit: what is missing there, what does not belong there, and what could not be kept.
@Suite(.timeLimit(.minutes(60)))
struct RolloutAuditTests {
    /// A roll-out that was taken back: start, stage, take-back, taken-back.
    private func over() throws -> RolloutScene {
        var scene = try RolloutScene(20)
        try scene.start()
        scene.advance(seconds: 6)
        try scene.begin(.takeBack(why: "enough"))
        scene.run()
        try #require(scene.history.entries.map(\.event) == ["start", "stage", "take-back", "taken-back"])
        try #require(scene.audit.isWhole, "\(scene.audit.faults)")
        return scene
    }

    /// What somebody does to the audit, or to the document beside it, while no controller is there.
    enum Harm: String, CaseIterable, Sendable {
        case lastIsGone, lastTwoAreGone, allIsGone, firstIsGone
        case lastIsChanged, firstIsChanged, unreadable, wrongPlace
        case oneMore, farAbove, atTheLimit, another
        case controlIsGone, controlIsOlder, controlIsFarAbove

        func happen(in scene: inout RolloutScene) throws {
            let entries = scene.history.entries
            func entry(_ number: Int64, follows: Bool = false) -> [UInt8] {
                RolloutAudit(
                    number: number, at: 1, id: "r-7", epoch: 2, sequence: 9, author: "evil", event: "stage",
                    previous: follows ? RolloutAudit.digest(of: entries[entries.count - 1].payload) : nil
                ).encoded()
            }
            let topic = scene.topics.rollout(of: "lobby")
            switch self {
            case .lastIsGone: scene.write([], at: 4)
            case .lastTwoAreGone: for slot in [3, 4] as [Int64] { scene.write([], at: slot) }
            case .allIsGone: for slot in 1...4 as ClosedRange<Int64> { scene.write([], at: slot) }
            case .firstIsGone: scene.write([], at: 2)
            case .lastIsChanged: scene.write(entry(4), at: 4)
            case .firstIsChanged: scene.write(entry(1), at: 1)
            case .unreadable: scene.write(Array("nonsense".utf8), at: 9)
            case .wrongPlace: scene.write(entries[3].payload, at: 9)
            case .oneMore: scene.write(entry(5, follows: true), at: 5)
            case .farAbove: scene.write(entry(1_000_005, follows: true), at: 1_000_005 % RolloutAudit.ring)
            case .atTheLimit:
                scene.write(entry(RolloutControl.highest), at: RolloutControl.highest % RolloutAudit.ring)
            case .another: scene.write(entry(7), at: 7)
            case .controlIsGone: scene.publish(MQTTMessage(topic: topic, payload: [], retain: true))
            case .controlIsOlder:
                let old = try required(scene.published.first { $0.topic == topic })
                scene.retained[topic] = old
            case .controlIsFarAbove:
                var control = try required(scene.control)
                control.entry = RolloutControl.highest
                scene.retained[topic] = .json(topic, control.encoded(), retain: true)
            }
        }

        /// Whether nobody can see it.
        var isHidden: Bool { self == .wrongPlace }
    }

    @Test(arguments: Harm.allCases)
    func `what is missing at its end, or does not belong there, is a fault, and the next roll-out goes on`(
        _ harm: Harm
    ) throws {
        var scene = try over()
        let numbers = scene.history.entries.map(\.number)
        try harm.happen(in: &scene)
        #expect(scene.audit.isWhole == harm.isHidden, "\(scene.audit.faults)")
        if harm == .controlIsOlder {
            // As far as anybody knows that one runs.
            try scene.begin(.takeBack(why: "again"))
            #expect(!scene.notices.isEmpty || scene.outcome != nil)
            scene.run()
        }
        try scene.start(43, id: "r-8")
        let faults = scene.audit.faults
        #expect(
            scene.notices.contains { $0.contains("audit") } == !harm.isQuiet, "\(scene.notices), \(faults)")
        // Numbers go on from the last one that somebody may have written, and stay readable.
        let next = try #require(scene.control?.entry)
        #expect(
            (numbers.count + 1...numbers.count + 8).contains(Int(next)) || harm == .controlIsGone, "\(next)")
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [43: 20])
        let entries = scene.history.entries.filter { $0.id == "r-8" }
        #expect(entries.map(\.event).first == "start" && entries.last?.event == "done")
        #expect(scene.control?.entry == entries.last?.number)
        // What is new is whole; what was broken is still said.
        #expect(RolloutHistory(entries.map(\.payload), endingWith: scene.control).isWhole)
    }

    @Test(arguments: [true, false])
    func `killed anywhere, the one that goes on leaves an audit that is whole to its end`(_ isBefore: Bool)
        throws
    {
        var (number, found) = (0, 0)
        while true {
            var scene = try RolloutScene(20)
            scene.options.dwells = [.seconds(5)]
            scene.options.stages = [.count(5), .share(100_000)]
            scene.crowd.weather.opens = 20
            scene.kills = { $0 == number && $1 == isBefore }
            try scene.start()
            scene.run()
            guard scene.wasKilled else { break }
            scene.kills = { _, _ in false }
            // An entry that was to follow is missing: that is a fault until somebody goes on.
            let lacks = scene.control.map { $0.entry != scene.history.entries.last?.number } ?? false
            #expect(scene.audit.isWhole == !lacks, "publish \(number): \(scene.audit.faults)")
            if let control = scene.control, !control.state.isOver {
                try scene.begin(.resume)
            } else {
                try scene.start(43, id: "r-8")
            }
            #expect(
                scene.notices.contains { $0.contains("was missing, and was written") } == lacks
                    || scene.outcome != nil)
            scene.run()
            #expect(scene.audit.isWhole, "publish \(number): \(scene.audit.faults)")
            let events = scene.history.entries.map(\.event)
            #expect(events.contains("found") == lacks, "publish \(number): \(events)")
            if lacks { found += 1 }
            number += 1
        }
        #expect(number > 8 && found > 2, "\(number), \(found)")
    }

    @Test func `a broker that has forgotten it gets it again, while a controller is there`() throws {
        var scene = try RolloutScene(20)
        scene.options.dwells = [.seconds(900)]
        try scene.start()
        scene.advance(seconds: 6)
        let before = scene.history.entries
        scene.restartBroker()
        #expect(scene.history.entries == before && scene.audit.isWhole, "\(scene.audit.faults)")
        // Or has an older one again.
        scene.restartBroker(losing: { $0.hasSuffix("/log/2") })
        #expect(scene.history.entries == before)
    }

    @Test func `what its file does not take is said by the controller, in its status and in the history`()
        throws
    {
        var scene = try RolloutScene(20)
        scene.options.dwells = [.seconds(900)]
        try scene.start()
        scene.advance(seconds: 6)
        let why = scene.control?.why
        for _ in 0..<3 {
            scene.director?.auditIsUnkept("no space left on device", at: scene.now)
            scene.advance(seconds: 2)
        }
        #expect(scene.notices == ["no space left on device"] && scene.director?.unkept != nil)
        #expect(scene.history.entries.map(\.event) == ["start", "stage", "unkept"])
        #expect(scene.history.entries.last?.why == "no space left on device")
        #expect(scene.control?.why == why && scene.audit.isWhole)
        scene.director?.auditIsUnkept(nil, at: scene.now)
        #expect(scene.notices == [] && scene.director?.unkept == nil)
        // It steers as before.
        try scene.begin(.takeBack(why: "enough"))
        scene.run()
        #expect(scene.outcome == .takenBack(why: "enough"))
    }

    @Test func `however many agents and documents there is something to say of, it stays short`() throws {
        var scene = try RolloutScene(60)
        scene.options.dwells = [.seconds(900)]
        try scene.start()
        scene.advance(seconds: 6)
        for round in 0..<3 {
            for index in scene.crowd.agents.indices {
                scene.report(index, .base, .drifted, order: .init(epoch: Int64(900 + round), sequence: 1))
            }
        }
        for slot in 0..<RolloutAudit.ring {
            scene.write(Array(String(repeating: "x", count: 90_000).utf8), at: slot)
        }
        let notices = scene.notices
        #expect(notices.count < 90 && notices.reduce(0) { $0 + $1.utf8.count } < 20_000, "\(notices.count)")
        // Each of these is one agent's first claim.
        #expect(notices.count { $0.contains("claims epoch 900") } == 10)
    }
}

extension RolloutAuditTests.Harm {
    /// What a controller takes without a word: it is whole for it.
    fileprivate var isQuiet: Bool {
        switch self {
        case .wrongPlace, .controlIsOlder: true
        default: false
        }
    }
}
