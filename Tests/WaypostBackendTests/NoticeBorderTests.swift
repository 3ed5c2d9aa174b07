import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// What is said of events, clocks, agents and answers, each at its border and beside it.
@Suite struct NoticeBorderTests {
    private static let topics = Topics.standard
    private static let now: Int64 = 1_800_000_000_000

    private static func line(_ number: Int64, at time: Int64 = now, of agent: String = "a") -> AgentEvent {
        let event = LogEvent(
            time: time, level: .info, tag: "t", boot: "B", sequence: number, process: 1, thread: 1,
            message: "m")
        return AgentEvent(agent: agent, event: event, source: [])
    }

    private static func seen(_ topic: String, _ payload: String, isRetained: Bool = false) -> MQTTMessage {
        MQTTMessage(topic: topic, payload: Array(payload.utf8), retain: isRetained)
    }

    private static func state(_ agent: String, isOnline: Bool) -> MQTTMessage {
        let text = isOnline ? #""online","why":"birth""# : #""offline","why":"will""#
        return seen(topics.state(of: agent), #"{"state":\#(text),"epoch":1,"boot":"b"}"#)
    }

    private static func health(_ agent: String, _ members: String, isRetained: Bool = false) -> MQTTMessage {
        seen(topics.health(of: agent), #"{"type":"health",\#(members)}"#, isRetained: isRetained)
    }

    // MARK: Events

    @Test func `one event that is missing is a gap, where nobody looked`() {
        for (number, isGap) in [(6, false), (7, true)] as [(Int64, Bool)] {
            var detector = GapDetector()
            let first = detector.saw(Self.line(5).event, from: "a")
            detector.missed(of: "a")
            let second = detector.saw(Self.line(number).event, from: "a")
            let third = detector.saw(Self.line(number + 9).event, from: "a")
            #expect(first == nil && (second != nil) == isGap && third == nil)
        }
    }

    @Test func `an event is known for 4096 numbers behind the newest, and older ones are not shown`() {
        for (number, isShown) in [
            (904, false), (905, true), (5_000, false), (5_001, true),
        ] as [(Int64, Bool)] {
            var known = EventDeduplicator()
            let isNew = known.note(Self.line(5_000).event, from: "a")
            let isNewToo = known.note(Self.line(number).event, from: "a")
            #expect(isNew && isNewToo == isShown, "\(number)")
        }
    }

    @Test func `a corrected line is not of the future`() {
        let line = Self.line(1, at: Self.now - 9_000)
        #expect(line.corrected(by: -10_000, now: Self.now).event.time == Self.now)
        #expect(line.corrected(by: -8_000, now: Self.now).event.time == Self.now - 1_000)
        #expect(line.corrected(by: 10_000, now: Self.now).event.time == Self.now - 9_000)
    }

    @Test func `a clock that was put back takes no line before those that it follows`() {
        let lines = LogOrder.merged([
            [Self.line(1, at: 100), Self.line(2, at: 50)], [Self.line(1, at: 70, of: "b")],
        ])
        #expect(lines.map { "\($0.agent)\($0.event.sequence)" } == ["b1", "a1", "a2"])
    }

    @Test func `that an agent sends too much is said once a minute`() {
        var shares = ReadingShares()
        let verdicts = ([0, 59_999, 60_000] as [Int64]).map {
            shares.take(20_000_000, .health, of: "a", at: $0)
        }
        #expect(verdicts == [.sayAndPassOver, .passOver, .sayAndPassOver])
    }

    @Test func `one that was content ten times as long as its pause begins anew`() {
        for (time, pause) in [(104_999, 20_000), (105_000, 10_000)] as [(Int64, Int64)] {
            var wishes = RepeatedWishes()
            let times = ([0, 1, time, time + 1] as [Int64]).map { wishes.time(of: "a", at: $0) }
            #expect(times == [0, 5_000, time, time + pause])
        }
    }

    // MARK: Agents

    @Test func `a roster has so many agents and says that there are more`() {
        var roster = Roster(topics: Self.topics, maximumMembers: 2)
        for (agent, isFull) in [("a", false), ("b", false), ("c", true), ("a", true)] {
            roster.saw(Self.state(agent, isOnline: true), now: Self.now)
            #expect((roster.gap != nil) == isFull && roster.members.count <= 2)
        }
    }

    @Test func `health that is not known is not good, and says what is not known`() {
        var roster = Roster(topics: Self.topics)
        roster.saw(Self.state("a", isOnline: true), now: Self.now)
        let check = #"{"name":"disk","state":"unknown","detail":"not looked at"}"#
        for (status, condition) in [
            ("green", AgentStatus.Condition.healthy), ("unknown", .unclear), ("blue", .unclear),
            ("red", .failing),
        ] {
            roster.saw(Self.health("a", #""status":"\#(status)","checks":[\#(check)]"#), now: Self.now)
            let summary = roster.summaries(now: Self.now).first
            #expect(summary?.condition == condition)
            #expect(summary?.problem.contains("disk: not known: not looked at") == true)
        }
    }

    @Test func `health without groups says nothing of them`() {
        var agent = FleetAgent()
        for members in [#""groups":["lobby"]"#, #""status":"green""#] {
            _ = agent.take(.health, Self.health("a", members).seen, at: 0)
        }
        #expect(agent.groups == ["lobby"])
    }

    @Test func `agents that were lost long before the broker went stay lost`() {
        for (pause, back) in [(Roster.brokersEnd, ["a", "b"]), (Roster.brokersEnd + 1, [])] {
            var roster = Roster(topics: Self.topics)
            for agent in ["a", "b"] { roster.saw(Self.state(agent, isOnline: true), now: 0) }
            roster.saw(Self.state("a", isOnline: false), now: 0)
            roster.saw(Self.state("b", isOnline: false), now: pause)
            let found = roster.connectionLost(at: pause + 1)
            #expect(found == back)
        }
    }

    @Test func `of kept health of a wrong clock it is not said when it was written`() {
        var roster = Roster(topics: Self.topics)
        roster.saw(Self.state("a", isOnline: true), now: Self.now)
        roster.saw(Self.health("a", #""at":\#(Self.now + 400_000)"#, isRetained: true), now: Self.now)
        #expect(roster.summaries(now: Self.now).map(\.asOf) == [nil])
        roster.saw(Self.health("a", #""at":\#(Self.now + 400_000)"#), now: Self.now)
        #expect(roster.summaries(now: Self.now).map(\.asOf) == [Self.now])
    }

    // MARK: Clocks

    @Test func `a clock that goes wrong is said again when it is off by another 30 s and more`() {
        var watch = ClockWatch()
        let said = ([40_000, 70_000, 100_001] as [Int64]).map { watch.learnt(["a": $0]).count }
        #expect(said == [1, 0, 1])
    }

    @Test func `a time that can't be is doubted once, beyond 30 s ahead and a day behind`() {
        for (lag, isDoubted) in [
            (-30_000, false), (-30_001, true), (86_400_000, false), (86_400_001, true),
        ] as [(Int64, Bool)] {
            var watch = ClockWatch()
            let line = Self.line(1, at: Self.now - lag)
            let doubts = (0..<2).map { _ in watch.doubt(line, now: Self.now) != nil }
            #expect(doubts == [isDoubted, false], "\(lag)")
        }
    }

    @Test func `the way of the answer is no error of the clock`() {
        for (ahead, error) in [(30_999, 0), (31_000, 30_500), (-30_000, -30_500), (-29_999, 0)]
            as [(Int64, Int64)]
        {
            let reply = Reply(id: "c", code: .ok, at: Self.now + ahead)
            #expect(ClockOffset.error(of: reply, roundTrip: 1_000, now: Self.now + 1_000) == error)
        }
    }

    @Test func `a time from which on is asked for is one of our clock`() {
        let reply = Reply(id: "c", code: .ok, at: WallClock.now() + 400_000)
        let start = LogStart.time(Self.now).milliseconds(byClockOf: reply)
        #expect((Self.now + 390_000...Self.now + 410_000).contains(start))
        #expect(LogStart.ago(.seconds(9)).milliseconds(byClockOf: reply) == reply.at - 9_000)
    }

    @Test func `what was missed begins where it began, however late an agent answers`() {
        let began = MonotonicTime.instant - .seconds(9)
        func age() -> Int64 { (MonotonicTime.instant - began).milliseconds }
        let (reply, before) = (Reply(id: "c", code: .ok, at: Self.now), age())
        let start = LogStart.instant(began).milliseconds(byClockOf: reply)
        #expect((before...age()).contains(Self.now - start))
    }

    // MARK: Answers

    @Test func `who went while it was asked was not known to be away`() {
        var diagnosis = NoReplyDiagnosis(.agent("a"), topics: Self.topics)
        diagnosis.saw(Self.state("a", isOnline: true))
        diagnosis.saw(Self.state("a", isOnline: false))
        #expect(!diagnosis.isKnownOffline && diagnosis.isOnline == false)
        var other = NoReplyDiagnosis(.agent("a"), topics: Self.topics)
        other.saw(Self.state("a", isOnline: false))
        #expect(other.isKnownOffline)
    }

    @Test func `what the broker kept answers a map and no patch`() throws {
        for (kind, isAnswer) in [(Relocation.Kind.map, true), (.patch, false)] {
            let relocation = Relocation(document: Array(#"{"rev":7,"entries":[]}"#.utf8), kind)
            let matcher = RelocationAnswerMatcher(relocation, for: .agent("a"), topics: Self.topics)
            var applied = AppliedMap()
            let layer = relocation.layer(of: .agent("a"))
            applied.layers = [.init(name: layer, revision: 7, digest: relocation.digest)]
            func answer(isRetained: Bool) -> RelocationAnswer? {
                matcher.answer(
                    in: .json(Self.topics.applied(of: "a"), applied.encoded(), retain: isRetained))
            }
            #expect(answer(isRetained: false) != nil)
            #expect((answer(isRetained: true) != nil) == isAnswer)
        }
    }

    @Test func `pages of two maps make no layer`() throws {
        func page(_ digest: String) throws -> JSONValue {
            let layer = #"{"layer":"@all","digest":"\#(digest)","count":2,"entries":[]}"#
            return try JSONValue(parsing: Array(#"{"layers":[\#(layer)]}"#.utf8))
        }
        #expect(try AgentMaps("a", pages: [page("x"), page("x")], asOf: 0).layers.count == 1)
        let error = #expect(throws: BackendError.self) {
            try AgentMaps("a", pages: [page("x"), page("y")], asOf: 0)
        }
        #expect(error?.description.contains("they changed meanwhile") == true)
    }

    /// A reader of the history of `a`, and the command that it waits for.
    private struct History {
        var collector: ReplayCollector
        var command: String

        init(maximumBytes: Int = 1 << 20) {
            collector = ReplayCollector(
                agents: ["a"], sender: "me", topics: topics, maximumBytes: maximumBytes)
            command = collector.command.id
        }

        /// The agent answers; whether it is asked again, at once or later.
        mutating func isAskedAgain(after code: Code, _ result: JSONValue = .null) -> Bool {
            let reply = Reply(id: command, code: code, result: result, at: now)
            _ = collector.saw(.json("waypost/v1/a/reply/me", reply.encoded()))
            let asked = collector.takeRequests() + collector.takeDelayed()
            for message in asked { command = message.json?["id"]?.stringValue ?? "" }
            return !asked.isEmpty
        }

        mutating func isAskedAgain(afterPageBefore sequence: Int64) -> Bool {
            isAskedAgain(
                after: .ok, ["boot": "B", "events": [], "next": ["boot": "B", "seq": .int(sequence)]])
        }
    }

    @Test func `a page that leads no further is the last`() {
        var history = History()
        let isAsked = ([9, 8, 8] as [Int64]).map { history.isAskedAgain(afterPageBefore: $0) }
        #expect(isAsked == [true, true, false] && history.collector.isComplete)
    }

    @Test func `an agent that is busy is asked sixty times for each page`() {
        var history = History()
        for sequence in [9, 8] as [Int64] {
            let isAsked = history.isAskedAgain(afterPageBefore: sequence)
            let isAskedAgain = (0..<60).allSatisfy { _ in history.isAskedAgain(after: .busy) }
            #expect(isAsked && isAskedAgain && history.collector.gaps.count == 1)
        }
        let isAsked = history.isAskedAgain(after: .busy)
        #expect(!isAsked && history.collector.isComplete)
        #expect(history.collector.gaps.first?.contains("its events before seq 8 are not looked at") == true)
    }

    @Test(arguments: [(0, 0), (1, 1)] as [(Int, Int)])
    func `so many bytes of lines are kept, and what is dropped is counted`(_ less: Int, _ dropped: Int) {
        let events = [1, 2].map { Self.line($0).event.encoded() }
        let bytes = events.reduce(0) { $0 + AgentEvent.events($1, from: "a")[0].source.count }
        var history = History(maximumBytes: bytes - less)
        for event in events { _ = history.collector.saw(.json("waypost/v1/a/log/i", event)) }
        #expect(history.collector.dropped == dropped && history.collector.wanted.count == 2 - dropped)
    }

    // MARK: The keeper

    private func applied(_ agent: String, _ revision: Int64, isTried: Bool = false) -> MQTTMessage {
        var applied = AppliedMap()
        applied.layers = [.init(name: "@all", revision: revision, digest: "sha256:x")]
        if isTried {
            applied.rollouts = [
                RolloutReport(
                    layer: "@all", id: "r-7", epoch: 1, sequence: 1, place: .next, reason: .chosen)
            ]
        }
        return .json(Self.topics.applied(of: agent), applied.encoded(), retain: true)
    }

    private func keeper(_ audiences: [Audience], revision: Int64 = 42) throws -> MapKeeper {
        let map = MapDocument.map(id: "m", revision: revision, entries: [])
        return MapKeeper(
            try audiences.map { try WantedMap(file: map, for: $0.description, name: "map.json") },
            topics: Self.topics)
    }

    @Test func `a map that a roll-out tries is no newer one`() throws {
        for isTried in [true, false] {
            var (keeper, chance) = (try keeper([.all]), SeededGenerator(seed: 5))
            for agent in ["a", "b"] {
                keeper.saw(applied(agent, 43, isTried: isTried), at: 0, using: &chance)
            }
            keeper.saw(applied("c", 41), at: 0, using: &chance)
            #expect(keeper.takeDue(at: 10_000).count == (isTried ? 1 : 0))
        }
    }

    @Test func `what another keeper has just published is not published again`() throws {
        var (keeper, chance) = (try keeper([.all]), SeededGenerator(seed: 5))
        keeper.saw(applied("c", 41), at: 0, using: &chance)
        let map = MapDocument.map(id: "m", revision: 42, entries: [])
        keeper.saw(.json(Self.topics.map(of: .all), map), at: 1, using: &chance)
        #expect(keeper.takeDue(at: 10_000).isEmpty)
    }

    @Test func `a hundred maps go out in a second`() throws {
        let agents = (0...100).map { "k\($0)" }
        var (keeper, chance) = (try keeper(agents.map { .agent($0) }), SeededGenerator(seed: 5))
        for agent in agents {
            var applied = AppliedMap()
            applied.isWanted = true
            keeper.saw(
                .json(Self.topics.applied(of: agent), applied.encoded(), retain: true), at: 0, using: &chance)
        }
        let counts = ([10_000, 10_999, 11_000] as [Int64]).map { keeper.takeDue(at: $0).count }
        #expect(counts == [100, 0, 1])
    }
}
