import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent
@testable import WaypostBackend
@testable import WaypostFleet

/// Who may give orders, in which order, and what becomes of documents that somebody else writes.
@Suite(.timeLimit(.minutes(60)))
struct RolloutOrderTests {
    private func running(_ count: Int = 20) throws -> RolloutScene {
        var scene = try RolloutScene(count)
        scene.options.dwells = [.seconds(900)]
        try scene.start()
        scene.advance(seconds: 6)
        return scene
    }

    // MARK: Numbers

    /// Somebody who may give orders raised the epoch.
    private func raised(_ epoch: Int64, _ change: (inout RolloutScene) -> Void = { _ in }) throws
        -> RolloutScene
    {
        var scene = try RolloutScene(20)
        change(&scene)
        var control = RolloutControl(
            id: "evil", epoch: epoch, sequence: 1, audience: "@lobby", at: 0, base: nil,
            next: .init(revision: 1, digest: "sha256:none"))
        control.below = .max
        scene.publish(.json(scene.topics.rollout(of: "lobby"), control.encoded(), retain: true))
        return scene
    }

    @Test func `agents that have an order refuse a jump, and the next roll-out begins`() throws {
        var scene = try running()
        try scene.begin(.takeBack(why: "enough"))
        scene.run()
        #expect(scene.outcome == .takenBack(why: "enough"))
        for epoch in [RolloutControl.longestJump + 3, RolloutControl.highest, Fields.largestInteger] {
            var control = try #require(scene.director?.control ?? scene.control)
            (control.id, control.epoch, control.state) = ("evil", epoch, .takenBack)
            scene.publish(.json(scene.topics.rollout(of: "lobby"), control.encoded(), retain: true))
            #expect(scene.crowd.agents.allSatisfy { $0.member.control?.epoch == 2 })
        }
        try scene.start(43, id: "r-8")
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [43: 20])
    }

    @Test(arguments: [RolloutControl.longestJump + 1, RolloutControl.highest])
    func `where the order was raised in agents that had none, a reset brings all back`(_ epoch: Int64) throws
    {
        var scene = try raised(epoch)
        #expect(scene.crowd.agents.allSatisfy { $0.member.control?.epoch == epoch })
        // It is a roll-out that runs, as far as anybody knows.
        #expect(throws: BackendError.self) { try scene.start() }
        scene.options.resetsOrder = true
        try scene.start()
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [42: 20], "\(scene.outcome as Any)")
        #expect(scene.crowd.agents.allSatisfy { $0.member.control?.epoch == 1 })
        // Once is enough.
        scene.options.resetsOrder = false
        try scene.start(43, id: "r-8")
        #expect(scene.control?.epoch == 2 && scene.control?.voids == [])
        scene.run()
        #expect(scene.outcome == .done)
    }

    @Test func `a reset is for what was raised, and not for a roll-out that runs`() throws {
        var scene = try running()
        scene.options.resetsOrder = true
        #expect(throws: BackendError.self) { try scene.start(43, id: "r-8") }
    }

    @Test func `a document that agents would not read is not sent`() throws {
        var scene = try RolloutScene(20)
        scene.options.exclude = (0..<100).map {
            "agent-with-a-name-of-about-sixty-characters-that-is-long-\($0)"
        }
        scene.options.include = scene.options.exclude
        #expect(throws: BackendError.self) { try scene.start() }
        #expect(scene.published.isEmpty)
        // What people say is cut where it is too long.
        var other = try running()
        try other.begin(.pause(why: String(repeating: "why ", count: 5_000)))
        #expect(other.control?.why?.utf8.count ?? .max <= RolloutControl.maximumWhy)
    }

    @Test func `a member that claims what nobody sent is named`() throws {
        var scene = try running()
        let liar = scene.withCandidate[0]
        scene.report(liar, .next, .chosen, order: .init(epoch: 7_000, sequence: 1))
        let notices = try #require(scene.director?.status(at: scene.now)?.notices)
        #expect(
            notices.count == 1 && notices[0].hasPrefix("\(scene.crowd.agents[liar].name) claims epoch 7000"))
    }

    /// Everything that a controller reads, with each number in it replaced.
    @Test func `numbers of any size in any document neither end a controller nor steer it`() throws {
        let scene = try running()
        let name = scene.crowd.agents[scene.withCandidate[0]].name
        let topics = scene.topics
        var documents: [(String, JSONValue)] = []
        for (topic, message) in scene.retained where topic.contains("/\(name)/") || topic.contains("/@") {
            documents.append((topic, try JSONValue(parsing: message.payload, limits: .trustedFile)))
        }
        var applied = try required(documents.first { $0.0 == topics.applied(of: name) }?.1.objectValue)
        applied["inactive"] = [["layer": "@lobby", "index": 1, "reason": "x"]]
        applied["omitted"] = 1
        documents.append((topics.applied(of: name), .object(applied)))
        let failure = scene.crowd.fail(0, .noRoute, scene.crowd.url, "x", .router, at: scene.now)
        documents.append((failure.topic, try JSONValue(parsing: failure.payload, limits: .trustedFile)))
        let before = try required(scene.director)
        for (topic, document) in documents {
            for json in document.withExtremes {
                var director = before
                for _ in 0..<2 {
                    director.saw(MQTTMessage(topic: topic, payload: json.serialized()), at: scene.now)
                }
                director.advance(to: scene.now + 1_000)
                _ = director.status(at: scene.now + 1_000)?.json
                if !topic.hasPrefix("waypost/v1/@") {
                    #expect(director.control?.epoch == before.control?.epoch)
                    // One agent's word stops it at most.
                    let state = director.control?.state
                    #expect(state == .running || state == .paused, "\(topic): \(json.text)")
                }
                if let status = try? RolloutStatus(json) { _ = status.json }
                _ = RolloutHistory([json.serialized()])
            }
        }
    }

    // MARK: What is said at the end

    @Test(arguments: [RolloutReport.Place.base, .next])
    func `taken back is said when each that was chosen has said so since, else who has not`(
        _ place: RolloutReport.Place
    ) throws {
        var scene = try running()
        let index = scene.withCandidate[0]
        // What it said before is no answer; and now it hangs.
        scene.report(index, place, place == .next ? .chosen : .drifted)
        scene.crowd.agents[index].isOnline = false
        try scene.begin(.takeBack(why: "enough"))
        scene.advance(seconds: 50)
        #expect(scene.outcome == nil && scene.control?.state == .takingBack)
        scene.advance(seconds: 20)
        let name = scene.crowd.agents[index].name
        let why = "1 agent did not say to be back: \(name); it is being taken back: enough"
        #expect(scene.outcome == .paused(why: why) && scene.control?.state == .takingBack)
        // Another command waits again, and hears it.
        try scene.begin(.resume)
        scene.arrive(index)
        scene.run()
        #expect(scene.outcome == .takenBack(why: "enough"))
        #expect(scene.control?.state == .takenBack && scene.onNext == 0)
    }

    @Test func `after the promotion, too, it is said when agents said so`() throws {
        var scene = try RolloutScene(20)
        (scene.options.allowsNoTraffic, scene.options.tail) = (true, .seconds(600))
        scene.options.stages = [.share(RolloutStage.everyone)]
        try scene.start()
        scene.run { $0.control?.state == .done }
        scene.crowd.agents[3].isOnline = false
        scene.fail([0, 1, 2], .noRoute)
        scene.run()
        guard case .paused(let why)? = scene.outcome else {
            Issue.record("\(scene.outcome as Any)")
            return
        }
        #expect(why.hasPrefix("1 agent did not say to be back: kiosk-4; "), "\(why)")
        #expect(scene.revisions == [43: 19, 42: 1])
    }

    // MARK: Who begins

    @Test func `of two that start at the same time one goes on, and nothing is written twice`() throws {
        var scene = try RolloutScene(20)
        let quiet: (inout RolloutOptions) -> Void = { $0.lease.quiet = 500 }
        var both = [scene.controller("one", salt: "r-1", quiet), scene.controller("two", salt: "r-2", quiet)]
        for (index, revision) in [(0, Int64(42)), (1, 43)] {
            let map = try required(
                RolloutDirector.Document(RolloutScene.map(revision, [RolloutScene.redirect])))
            try both[index].begin(.start(id: "r-\(index + 1)", map, why: nil), at: scene.now)
        }
        var written: [String] = []
        for tick in 0..<20 {
            let now = scene.now + Int64(tick * 100)
            for index in both.indices {
                both[index].advance(to: now)
                while let step = both[index].nextStep() {
                    if case .publish(let message) = step {
                        if message.topic == scene.topics.rollout(of: "lobby") {
                            written.append(both[index].holder.name)
                        }
                        for other in both.indices { both[other].saw(message, at: now) }
                    }
                    both[index].done(step, at: now)
                }
            }
        }
        #expect(both[0].outcome == .superseded(by: "two") && both[1].outcome == nil)
        #expect(Set(written) == ["two"])
    }

    @Test func `what another one writes after all was read has it begin anew, until it writes itself`() throws
    {
        var scene = try running()
        let before = scene.published.count
        var readers = [500, 500, 0].map { quiet in
            scene.controller("ops2", salt: "r-7") { $0.lease.quiet = quiet }
        }
        for index in readers.indices { try readers[index].begin(.takeBack(why: "enough"), at: scene.now) }
        // The one that steers has not seen the other's lease.
        scene.director?.pause("people", at: scene.now)
        scene.advance(seconds: 1)
        let news = scene.published.dropFirst(before)
        let document = try required(news.first { $0.topic == scene.topics.rollout(of: "lobby") })
        let entry = try required(news.first { $0.topic.contains("/rollout/log/") })
        #expect(readers.allSatisfy { !$0.isOvertaken })
        readers[0].saw(document, at: scene.now)
        readers[1].saw(entry, at: scene.now)
        for message in [document, entry] { readers[2].saw(message, at: scene.now) }
        #expect(readers.map(\.isOvertaken) == [true, true, false])
    }

    @Test func `an equal order with other bytes is resolved by the larger lease`() throws {
        var scene = try running()
        var other = try required(scene.control)
        (other.author, other.why) = ("ops2", "another thought")
        let topic = scene.topics.rollout(of: "lobby")
        scene.publish(.json(topic, other.encoded(), retain: true))
        scene.advance(seconds: 1)
        #expect(scene.outcome == nil && scene.control?.epoch == other.epoch + 1)
        #expect(scene.director?.status(at: scene.now)?.notices.first?.hasPrefix("ops2 published") == true)
        // With the smaller lease it gives way.
        var lease = try required(scene.director?.lease)
        lease.nonce = "z"
        let current = try required(scene.control)
        var third = current
        third.author = "ops3"
        scene.director?.kept.lease = lease
        scene.publish(.json(topic, third.encoded(), retain: true))
        #expect(scene.director?.outcome == .superseded(by: "ops3"))
    }

    @Test func `a promotion whose map the broker has lost is taken back by who takes over`() throws {
        var scene = try running()
        scene.director = nil
        var control = try #require(scene.control)
        (control.state, control.below, control.sequence) = (.promoting, .max, control.sequence + 1)
        scene.publish(.json(scene.topics.rollout(of: "lobby"), control.encoded(), retain: true))
        scene.retained[scene.topics.candidate(of: "lobby")] = nil
        try scene.begin(.resume)
        scene.run()
        #expect(scene.outcome == .takenBack(why: "the broker has lost the new map"))
        #expect(scene.revisions == [41: 20])
    }

    @Test func `a map that somebody sent in the place of the old one is promoted by who takes over`() throws {
        var scene = try running()
        scene.director = nil
        let map = RolloutScene.map(42, [RolloutScene.redirect])
        scene.publish(.json(scene.topics.map(of: .group("lobby")), map, retain: true))
        try scene.begin(.resume)
        #expect(scene.control?.state == .promoting)
        scene.run()
        #expect(scene.outcome == .done && scene.revisions == [42: 20])
    }

    // MARK: What is retained

    @Test func `what the broker forgot while no controller was there is taken back by what agents say`()
        throws
    {
        var scene = try running()
        #expect(scene.onNext == 5)
        let topic = scene.topics.rollout(of: "lobby")
        scene.director = nil
        // One of them says something else.
        scene.report(scene.withCandidate[0], .next, .chosen, order: .init(epoch: 900, sequence: 1))
        scene.retained = scene.retained.filter { !$0.key.hasPrefix(topic) && !$0.key.hasSuffix("/map/next") }
        let error = #expect(throws: BackendError.self) { try scene.begin(.resume) }
        #expect("\(error as Any)".contains("4 agents say to have the map of roll-out r-7 in force"))
        try scene.begin(.takeBack(why: "enough"))
        scene.run()
        #expect(scene.onNext == 0 && scene.outcome == .takenBack(why: "enough"))
        #expect(scene.control?.state == .takenBack && scene.control?.epoch == 2)
    }

    @Test(arguments: ["", "{}", "overwritten"])
    func `a control document, a lease and an entry that somebody empties are put back, and that is said`(
        _ text: String
    ) throws {
        var scene = try running()
        let topics = [
            scene.topics.rollout(of: "lobby"), scene.topics.lease(of: "lobby"),
            scene.topics.audit(of: "lobby", slot: 1),
        ]
        for topic in topics {
            scene.publish(MQTTMessage(topic: topic, payload: Array(text.utf8), retain: true))
            scene.advance(seconds: 1)
        }
        #expect(scene.control?.id == "r-7" && scene.history.isWhole)
        #expect(scene.history.entries.map(\.event) == ["start", "stage"])
        #expect(scene.retained[topics[1]]?.json.flatMap { try? RolloutLease($0) } != nil)
        let notices = try #require(scene.director?.status(at: scene.now)?.notices)
        #expect(notices.count == 2 && notices.allSatisfy { $0.hasSuffix("and was put back") }, "\(notices)")
    }
}

extension JSONValue {
    /// The document once for each number in it and each extreme one in its place.
    fileprivate var withExtremes: [JSONValue] {
        switch self {
        case .int, .double:
            let limits: [Int64] = [
                0, 1, -1, 1 << 53, -(1 << 53), (1 << 53) - 1, .max, .min, .max / 2, .min / 2, .max - 1,
            ]
            return limits.map(JSONValue.int) + [
                .double(1e300), .double(-1e300), .double(0.5), .double(1e-300),
            ]
        case .object(let members):
            return members.flatMap { name, value in
                value.withExtremes.map { .object(members.merging([name: $0]) { $1 }) }
            }
        case .array(let elements):
            return elements.indices.flatMap { index in
                elements[index].withExtremes.map { changed in
                    var elements = elements
                    elements[index] = changed
                    return .array(elements)
                }
            }
        default: return []
        }
    }
}
