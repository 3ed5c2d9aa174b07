import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// What is decided of a fleet, each at its border and beside it, and with what is left of before.
@Suite struct FleetBorderTests {
    private static let topics = Topics.standard
    private static let next = RolloutControl.MapID(revision: 42, digest: "sha256:x")

    private static func state(_ agent: String, isOnline: Bool, epoch: Int = 1) -> SeenMessage {
        let text = isOnline ? #""online","why":"birth""# : #""offline","why":"will""#
        return seen(topics.state(of: agent), #"{"state":\#(text),"epoch":\#(epoch),"boot":"b"}"#)
    }

    private static func seen(_ topic: String, _ payload: String, isRetained: Bool = false) -> SeenMessage {
        SeenMessage(topic: topic, payload: Array(payload.utf8), isRetained: isRetained)
    }

    private static func health(_ agent: String, _ members: String) -> SeenMessage {
        seen(topics.health(of: agent), #"{"type":"health",\#(members)}"#)
    }

    /// A group with evidence of a stage that began at 0.
    private struct Group {
        var fleet = RolloutFleet(group: "all", salt: "r", topics: topics)
        var evidence = RolloutEvidence(at: 0)

        @discardableResult
        mutating func saw(_ message: SeenMessage, at now: Int64 = 0) -> RolloutFleet.News? {
            fleet.saw(message, of: "r-7", at: now)?.news
        }

        mutating func applies(
            _ agent: String, opened: Int64 = 0, failed: Int64 = 0, id: String = "r-7",
            reason: RolloutReport.Reason = .chosen, at now: Int64 = 0
        ) {
            var applied = AppliedMap()
            applied.layers = [.init(name: "@all", revision: 42, digest: next.digest)]
            applied.rollouts = [
                RolloutReport(
                    layer: "@all", id: id, epoch: 1, sequence: 1, place: .next, reason: reason,
                    opened: opened, failed: failed)
            ]
            let before = fleet.agents[agent]?.report
            saw(
                SeenMessage(topic: topics.applied(of: agent), payload: applied.encoded(), isRetained: false),
                at: now)
            guard let known = fleet.agents[agent] else { return }
            evidence.agentApplied(agent, known, before: before, foreseen: [], at: now)
        }

        /// The router of an agent finds no route to a URL that the candidate touches.
        mutating func fails(_ agent: String) throws {
            var report = FailureReport(
                id: "f", code: .noRoute, origin: .router, url: "app://a", detail: "no", at: 0)
            report.map = FailureReport.MapInForce(layer: "@all", revision: 42)
            evidence.agentFailed(
                agent, try #require(fleet.agents[agent]), report, control(), touched: { _ in true }, at: 0)
        }
    }

    private func group(_ agents: [String], at now: Int64 = 0) -> Group {
        var group = Group()
        for agent in agents { group.saw(Self.state(agent, isOnline: true), at: now) }
        return group
    }

    // MARK: Evidence

    @Test func `an agent is lost by the map for two minutes after it said to have it`() throws {
        var group = group(["a", "b"])
        for agent in ["a", "b"] { group.applies(agent) }
        for (agent, time) in [("a", RolloutEvidence.blame), ("b", RolloutEvidence.blame + 1)] {
            group.evidence.agentLost(agent, try #require(group.fleet.agents[agent]), at: time)
        }
        #expect(group.evidence.lost == ["a": RolloutEvidence.blame])
    }

    @Test func `who comes back within the grace was not lost, who comes later was`() throws {
        var group = group(["a", "b"])
        for agent in ["a", "b"] {
            group.applies(agent)
            group.evidence.agentLost(agent, try #require(group.fleet.agents[agent]), at: 10)
        }
        group.evidence.agentCame("a", at: 70, grace: 60)
        group.evidence.agentCame("b", at: 71, grace: 60)
        #expect(group.evidence.lost == ["b": 10])
    }

    @Test func `agents remember the roll-out of a candidate, and none that was promoted`() {
        var group = group(["a", "b", "c"])
        for agent in ["a", "b"] { group.applies(agent, reason: .promoted) }
        #expect(group.fleet.memory?.agents == nil)
        group.applies("c")
        #expect(group.fleet.memory?.agents == 1)
    }

    @Test func `opens are counted over a restart, and no more than one a millisecond`() {
        var group = group(["a", "b"])
        for (opened, failed) in [(0, 0), (10, 2), (4, 1)] as [(Int64, Int64)] {
            group.applies("a", opened: opened, failed: failed, at: 1_000)
        }
        #expect(group.evidence.allOpens == RolloutEvidence.Opens(opened: 14, failed: 3))
        group.applies("b", at: 1_000)
        group.applies("b", opened: 1_000_000, at: 1_000)
        #expect(group.evidence.opens["b"]?.opened == 1_000 + RolloutEvidence.window)
    }

    @Test func `a canary is asked once, whatever stage it is`() {
        var group = group(["a"])
        group.applies("a")
        let first = group.evidence.takeCanaries(group.fleet)
        group.evidence.canariesAnswered([], Self.next)
        group.evidence.nextStage(at: 9)
        let second = group.evidence.takeCanaries(group.fleet)
        #expect(first == ["a"] && second == [])
    }

    @Test func `who became red under the map is newly red in each stage after it`() {
        var group = group(["a"])
        group.fleet.beginStage(isFirst: true)
        group.applies("a")
        group.saw(Self.health("a", #""status":"red""#))
        #expect(group.fleet.counts.redOnNext == 1)
        group.fleet.beginStage(isFirst: false)
        #expect(group.fleet.counts.redOnNext == 1)
    }

    @Test func `what an agent says of another roll-out is no report of this one`() {
        var group = group(["a"])
        group.applies("a", opened: 9, id: "r-6")
        #expect(group.fleet.agents["a"]?.report == nil && group.fleet.counts.onNext == 0)
    }

    @Test func `one that has come has 5 s until it is missed`() {
        let group = group(["a"], at: 1_000)
        #expect(group.fleet.names(notOn: Self.next, at: 6_000) == [])
        #expect(group.fleet.names(notOn: Self.next, at: 6_001) == ["a"])
    }

    @Test func `an agent that is gone for good is not counted when its state is removed`() {
        var group = group(["a"])
        group.saw(Self.state("a", isOnline: false))
        group.saw(Self.seen(Self.topics.state(of: "a"), ""))
        #expect(group.fleet.agents.isEmpty)
    }

    @Test func `gates look at what was found of late: 404 for a minute, losses behind the grace`() throws {
        var group = group(["a", "b", "c"])
        for agent in ["a", "b", "c"] {
            group.applies(agent, opened: 0)
            group.applies(agent, opened: 10)
            try group.fails(agent)
            group.evidence.agentLost(agent, try #require(group.fleet.agents[agent]), at: 0)
        }
        var options = RolloutOptions()
        options.grace = 50_000
        func verdict(_ name: String, at now: Int64) -> RolloutStatus.Verdict? {
            RolloutGates(
                evidence: group.evidence, fleet: group.fleet, control: Self.control(), options: options,
                now: now
            ).all.first { $0.name == name }?.verdict
        }
        #expect(verdict("not-found", at: RolloutEvidence.window) == .breach)
        #expect(verdict("not-found", at: RolloutEvidence.window + 1) == .pass)
        #expect(verdict("lost", at: 50_000) == .pass)
        #expect(verdict("lost", at: 50_001) == .breach)
    }

    private static func control(below: UInt64 = .max) -> RolloutControl {
        RolloutControl(
            id: "r-7", epoch: 1, sequence: 1, audience: "@all", at: 0, base: nil, next: next, below: below)
    }

    private func verdict(_ name: String, _ group: Group, at now: Int64) -> RolloutStatus.Verdict? {
        RolloutGates(
            evidence: group.evidence, fleet: group.fleet, control: Self.control(),
            options: RolloutOptions(), now: now
        ).all.first { $0.name == name }?.verdict
    }

    @Test(arguments: [(1, .pass), (30, .breach)] as [(Int, RolloutStatus.Verdict)])
    func `the agent that fails most often is left out, and the others count`(
        _ ofSecond: Int, _ found: RolloutStatus.Verdict
    ) throws {
        var group = group(["a", "b", "c", "d", "e", "f"])
        for (agent, failures) in [("a", 30), ("b", ofSecond), ("c", 1)] {
            group.applies(agent)
            for _ in 0..<failures { try group.fails(agent) }
        }
        group.evidence.passed(1_000, group.fleet.counts)
        #expect(verdict("failures", group, at: 1_000) == found)
    }

    @Test(arguments: [(9, .pass), (8, .breach)] as [(Int, RolloutStatus.Verdict)])
    func `a tenth of the chosen agents may say nothing, and no more`(
        _ count: Int, _ found: RolloutStatus.Verdict
    ) {
        let agents = (0..<10).map { "k\($0)" }
        var group = group(agents)
        group.fleet.select(Self.control())
        for agent in agents.prefix(count) { group.applies(agent) }
        #expect(verdict("reports", group, at: 1_000_000) == found)
    }

    @Test(arguments: [(1, .pass), (2, .breach)] as [(Int64, RolloutStatus.Verdict)])
    func `5 % of the opens may fail, and no more`(_ last: Int64, _ found: RolloutStatus.Verdict) {
        var group = group(["a", "b", "c"])
        let opens: [(String, Int64, Int64)] = [("a", 40, 2), ("b", 40, 2), ("c", 20, last)]
        for (agent, opened, failed) in opens {
            group.applies(agent)
            group.applies(agent, opened: opened, failed: failed)
        }
        #expect(verdict("opens", group, at: 1_000) == found)
    }

    // MARK: States and stages

    @Test func `a map that was restored is not taken back by a choice that agents do not have any more`() {
        var control = RolloutControl(
            id: "r-7", epoch: 1, sequence: 1, audience: "@all", at: 0, base: nil, next: Self.next,
            state: .takingBack)
        control.why = "lost"
        for (isPromoted, isRestored) in [(true, false), (false, true), (false, false)] {
            var state = RolloutState.reading
            state.tookOver(control, isPromoted: isPromoted, isRestored: isRestored, at: 5)
            let back = RolloutState.Return(why: "lost", since: 5)
            #expect(state == (isPromoted || isRestored ? .restoring(back) : .takingBack(back)))
        }
    }

    @Test func `a pause of a promotion knows that the map is published`() {
        for isPublished in [true, false] {
            var state = RolloutState.promoting(since: 0, isPublished: isPublished)
            for time in 1...2 {
                let hasPaused = state.pauseBegan("why", isWatched: true, at: Int64(time))
                #expect(hasPaused && state.isPromoted == isPublished)
            }
        }
    }

    @Test func `agents that are excluded take no place in a stage of so many`() {
        var fleet = RolloutFleet(group: "all", salt: "r", topics: Self.topics)
        for number in 1...9 { _ = fleet.saw(Self.state("k\(number)", isOnline: true), of: nil, at: 0) }
        let names = fleet.online.sorted { $0.value.number < $1.value.number }.map(\.key)
        let stages = RolloutStages([.count(2)], of: fleet, include: [], exclude: names.prefix(3))
        #expect(stages.entries.map(\.agents) == [Array(names[3..<5])])
    }

    // MARK: The audit

    @Test func `an entry of the audit counts in its own place, and is missed where it is lost`() throws {
        let control = RolloutControl(
            id: "r-7", epoch: 1, sequence: 1, audience: "@all", at: 0, base: nil, next: Self.next)
        var writer = RolloutTrail()
        let entries = (0..<2).map { _ in
            writer.append("stage", of: control, by: "ops", why: nil, evidence: nil, at: 7)
        }
        var reader = RolloutTrail()
        _ = reader.saw(entries[0].encoded(), in: entries[0].slot)
        _ = reader.begins(after: nil)
        let elsewhere = reader.saw(entries[1].encoded(), in: entries[1].slot + 1)
        let inPlace = reader.saw(entries[1].encoded(), in: entries[1].slot)
        #expect(elsewhere == .foreign && inPlace == .asItShouldBe && reader.last?.number == 2)
        #expect(reader.missing.isEmpty)
        reader.connectionLost()
        #expect(reader.missing.map(\.slot) == entries.map(\.slot))
    }

    // MARK: Members

    private func members(_ change: (inout RolloutControl) -> Void = { _ in }) -> RolloutMembers {
        var control = RolloutControl(
            id: "r-7", epoch: 1, sequence: 1, audience: "@lobby", at: 0, base: nil, next: Self.next,
            below: .max)
        change(&control)
        var members = RolloutMembers(agent: "k1")
        members.controlWasStored(control, of: "@lobby", digest: "d", at: 0)
        return members
    }

    @Test func `a new connection is subscribed to the candidate that is needed`() {
        var members = members()
        let layers = MapLayers(agent: "k1", groups: ["lobby"])
        let new = (0..<4).map { turn in
            if turn == 2 { members.connected(isNewSession: true, at: 0) }
            return members.takeSubscriptions(layers, at: 0).new
        }
        #expect(new == [["lobby"], [], ["lobby"], []])
    }

    @Test func `a map that a new session does not bring is missed after 5 s, once`() {
        var members = members()
        members.connected(isNewSession: true, at: 10)
        let isMissed = [5_009, 5_010, 5_011].map { members.timePassed(at: $0) }
        #expect(isMissed == [false, true, false])
    }

    @Test func `an agent that is not chosen takes no candidate`() throws {
        let layers = MapLayers(agent: "k1", groups: ["lobby"])
        let digest = [UInt8](repeating: 1, count: 32)
        func needs(_ change: (inout RolloutControl) -> Void) throws -> Bool {
            let members = members {
                $0.next.digest = SHA256.label(digest)
                change(&$0)
            }
            return try members.needs(digest, layers, of: "@lobby")
        }
        #expect(try needs { _ in })
        #expect(try !needs { $0.exclude = ["k1"] })
        #expect(try !needs { $0.below = 0 })
    }

    private func guarded(_ id: String = "r-7", sequence: Int64 = 1) -> RolloutControl {
        var control = RolloutControl(
            id: id, epoch: 1, sequence: sequence, audience: "@lobby", at: 0, base: nil, next: Self.next,
            below: .max)
        control.limit = RolloutControl.Guard(failures: 3, share: 1, within: 12_000)
        return control
    }

    @Test func `failures count for the time of the guard, of this roll-out only, and the last one trips it`()
        throws
    {
        func member(failingAt times: [Int64], _ next: (inout RolloutMember) throws -> Void = { _ in }) throws
            -> [Bool]
        {
            var member = RolloutMember(agent: "k1")
            _ = try member.take(guarded(), for: .group("lobby"), digest: "d", at: 0)
            var found = times.dropLast().map { member.count(failing: true, at: $0) }
            try next(&member)
            found.append(member.count(failing: true, at: times.last ?? 0))
            return found
        }
        #expect(try member(failingAt: [0, 1, 2]) == [false, false, true])
        #expect(try member(failingAt: [0, 1, 11_999]) == [false, false, true])
        #expect(try member(failingAt: [0, 1, 12_000]) == [false, false, false])
        let found = try member(failingAt: [0, 1, 2]) {
            _ = try $0.take(guarded("r-8", sequence: 2), for: .group("lobby"), digest: "e", at: 2)
        }
        #expect(found == [false, false, false])
    }

    // MARK: Layers

    private func record(_ key: String, _ change: (inout MapRecord) -> Void = { _ in }) -> MapRecord {
        var record = MapRecord(
            layer: key, revision: 5, revisionFloor: 5, digest: [1], applied: 0, expires: 100,
            entries: Array("[]".utf8))
        change(&record)
        return record
    }

    @Test func `a map ends with the moment of its exp, and that is said again after the time between`() {
        var layers = MapLayers(agent: "k1", groups: [])
        layers.stored["@all"] = record("@all")
        #expect([99, 100].map { layers.expired(at: $0).count } == [0, 1])
        let said = [0, 999, 1_000, 1_999].map { now in
            layers.timePassed(wall: 100, monotonic: now, every: 1_000, reverts: false).count
        }
        #expect(said == [1, 0, 1, 0])
    }

    private func take(
        _ revision: Int, _ key: String, _ layers: inout MapLayers, expires: Int64? = nil
    ) throws -> Bool {
        let exp = expires.map { #","exp":\#($0)"# } ?? ""
        let payload = #"{"id":"m","type":"map","rev":\#(revision)\#(exp),"entries":[]}"#
        var arrived = ArrivedMap(Array(payload.utf8), on: key, for: key == "k1" ? .agent("k1") : .all)
        let rules = MapDocument.Rules(maximumBytes: 10_000, limits: .protocolDefaults, trusted: .none)
        return try layers.take(&arrived, rules, at: 0, isClockCorrect: true)
    }

    @Test func `the end of a new map is said at once, whenever that of the one before was`() throws {
        var layers = MapLayers(agent: "k1", groups: [])
        layers.stored["@all"] = record("@all")
        func said(_ wall: Int64, _ monotonic: Int64) -> [Int64?] {
            layers.timePassed(wall: wall, monotonic: monotonic, every: 1_000, reverts: true).map(\.revision)
        }
        #expect(said(100, 0) == [5])
        #expect(try take(6, "@all", &layers, expires: 200))
        #expect(said(200, 1) == [6])
    }

    @Test func `a new map leaves of the patches before it their highest revision, and no end`() throws {
        var layers = MapLayers(agent: "k1", groups: [])
        layers.stored["k1"] = record("k1") { $0.expires = nil }
        layers.stored[MapRecord.patchLayer] = record(MapRecord.patchLayer) {
            ($0.revision, $0.revisionFloor) = (8, 8)
        }
        #expect(try take(6, "k1", &layers))
        #expect(layers.expired(at: 1_000).isEmpty)
        #expect(layers.nextPatch == AppliedMap.NextPatch(base: 6, revision: 9))
    }

    @Test func `a document that is refused for another reason is news, and the same again is not`() {
        var layers = MapLayers(agent: "k1", groups: [])
        let isNews = ([.badField, .badField, .rollback, .rollback] as [Code]).enumerated().map { time, code in
            layers.remember(
                AppliedMap.Refused(
                    layer: "@all", revision: 1, digest: "d", code: code, detail: "", at: Int64(time)))
        }
        #expect(isNews == [true, false, true, false] && layers.refused["@all"]?.at == 3)
    }
}
