import MQTTLink
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// Who is there, by all that speaks for it; and what can't be read takes nothing away.
///
/// All of them read the documents of an agent by `FleetAgent`.
///
/// | Who decides | By what | What can't be read |
/// |---|---|---|
/// | `Roster`: lists, `describe`, `ping`, `open`, the console, plans | state, health, map/applied, any message that is no will | the document stays as it was; `AgentStatus.problem` names it |
/// | `RolloutFleet`: a roll-out and its plan | the same, and failures | counts as before; a note of the roll-out names the agent |
/// | `NoReplyDiagnosis`: who waits for replies | the roster, and replies | counted, and said where a reply is missed |
/// | `MapSurvey`: what a map would do | map/applied, routes, contract | not known, with that reason |
/// | `LogFollower`, `ReplayCollector`, `FailureReader` | events and reports | counted, and said (SplitByRuleTests) |
@Suite struct PresenceTests {
    private static let topics = Topics.standard
    private static let now: Int64 = 1_800_000_000_000

    private static func state(_ state: String, _ why: String, epoch: Int = 1) -> MQTTMessage {
        message("state", #"{"state":"\#(state)","epoch":\#(epoch),"boot":"b","why":"\#(why)"}"#, retain: true)
    }

    private static func health(age: Int64, retain: Bool) -> MQTTMessage {
        message(
            "health", #"{"type":"health","status":"green","epoch":1,"groups":["lobby"],"at":\#(now - age)}"#,
            retain: retain)
    }

    private static func message(_ level: String, _ payload: String, retain: Bool) -> MQTTMessage {
        MQTTMessage(topic: "waypost/v1/k1/\(level)", payload: Array(payload.utf8), retain: retain)
    }

    private static let cleared = message("state", "", retain: false)
    private static let applied = message(
        "map/applied", #"{"layers":[],"entries":0,"inactive":[],"refused":null}"#, retain: false)

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var messages: [MQTTMessage]
        /// Nil where it is not known.
        var isOnline: Bool?
    }

    static let cases = [
        Case(testDescription: "its state says so", messages: [state("online", "birth")], isOnline: true),
        Case(testDescription: "lost", messages: [state("offline", "will")], isOnline: false),
        Case(
            testDescription: "its state was removed, and its last health is new",
            messages: [health(age: 20_000, retain: true)], isOnline: true),
        Case(
            testDescription: "its state was removed, and its last health is old",
            messages: [health(age: 600_000, retain: true)], isOnline: nil),
        Case(
            testDescription: "its state is removed while it goes on",
            messages: [state("online", "birth"), health(age: 600_000, retain: true), cleared, applied],
            isOnline: true),
        Case(
            testDescription: "it goes after its state was removed",
            messages: [
                state("online", "birth"), health(age: 0, retain: false), cleared, applied,
                state("offline", "will"),
            ], isOnline: false),
        Case(
            testDescription: "a late will comes after the birth",
            messages: [
                state("online", "birth"), health(age: 0, retain: true), state("offline", "will", epoch: 0),
            ], isOnline: true),
    ]

    /// A roll-out does not believe them: who claims a later connection than it has would never be gone.
    static let lateWills = [
        Case(
            testDescription: "the broker keeps a late will, and health of the connection after it",
            messages: [state("offline", "will", epoch: 0), health(age: 600_000, retain: true)], isOnline: true
        ),
        Case(
            testDescription: "the same, the health first",
            messages: [health(age: 600_000, retain: true), state("offline", "will", epoch: 0)], isOnline: true
        ),
    ]

    @Test(arguments: lateWills, ["all", "lobby"])
    func `one that claims a later connection than it has is gone for a roll-out`(_ one: Case, group: String) {
        var fleet = RolloutFleet(group: group, salt: "r", topics: Self.topics)
        for message in one.messages { _ = fleet.saw(message.seen, of: nil, at: 0) }
        #expect(fleet.counts.online == 0)
    }

    /// What only a clock that people have tells is told to a roll-out by who has read the list.
    @Test(arguments: cases, ["all", "lobby"])
    func `a roll-out counts the agents that a list shows as online`(_ one: Case, group: String) {
        var roster = Roster(topics: Self.topics)
        var fleet = RolloutFleet(group: group, salt: "r", topics: Self.topics)
        for message in one.messages {
            roster.saw(message, now: Self.now)
            _ = fleet.saw(message.seen, of: nil, at: 0)
        }
        for (name, member) in roster.members where member.isOnline == true { fleet.spoke(name) }
        let isMember = group == "all" || one.messages.contains { $0.topic.hasSuffix("/health") }
        #expect(fleet.counts.online == (one.isOnline == true && isMember ? 1 : 0))
    }

    @Test func `who begins anew in another group is counted there, by all`() {
        func begins(_ boot: String, _ group: String) -> [MQTTMessage] {
            [
                Self.message(
                    "state", #"{"state":"online","epoch":1,"boot":"\#(boot)","why":"birth"}"#, retain: false),
                Self.applied,
                Self.message(
                    "health",
                    #"{"status":"green","epoch":1,"boot":"\#(boot)","groups":["\#(group)"],"at":\#(Self.now)}"#,
                    retain: false),
            ]
        }
        var roster = Roster(topics: Self.topics)
        var (lobby, hall) = (
            RolloutFleet(group: "lobby", salt: "r", topics: Self.topics),
            RolloutFleet(group: "hall", salt: "r", topics: Self.topics)
        )
        func counts(_ messages: [MQTTMessage]) -> [Int] {
            for message in messages {
                roster.saw(message, now: Self.now)
                _ = lobby.saw(message.seen, of: nil, at: 0)
                _ = hall.saw(message.seen, of: nil, at: 0)
            }
            #expect(roster.members["k1"]?.isIn("lobby") == (lobby.counts.online == 1))
            #expect(roster.members["k1"]?.isIn("hall") == (hall.counts.online == 1))
            return [lobby.counts.online, hall.counts.online]
        }
        #expect(counts(begins("a", "lobby")) == [1, 0])
        #expect(counts(begins("b", "hall")) == [0, 1])
        #expect(hall.agents["k1"]?.map == nil && hall.agents["k1"]?.isOnline == true)
        #expect(counts(begins("c", "lobby")) == [1, 0])
    }

    @Test(arguments: cases + lateWills) func `an agent is there when what is known speaks for it`(_ one: Case)
    {
        var roster = Roster(topics: Self.topics)
        for message in one.messages { roster.saw(message, now: Self.now) }
        #expect(roster.members["k1"]?.isOnline == one.isOnline)
        // There is one, whatever was lost.
        #expect(AgentSelection(names: ["k1"]).fault(in: roster) == nil)
    }

    @Test func `what can't be read takes nothing away, and is said`() {
        var roster = Roster(topics: Self.topics)
        roster.saw(Self.state("online", "birth"), now: Self.now)
        roster.saw(Self.health(age: 0, retain: true), now: Self.now)
        roster.saw(Self.applied, now: Self.now)
        for level in ["state", "health", "map/applied"] {
            for garbage in ["{", "7", "[]", "\u{0}"] {
                roster.saw(Self.message(level, garbage, retain: false), now: Self.now)
                let found = roster.summaries(now: Self.now)[0]
                #expect(found.state == "online" && found.health == "green", "\(level) \(garbage): \(found)")
                #expect(found.problem.contains("its \(level) can't be read"), "\(level) \(garbage): \(found)")
            }
        }
        roster.saw(Self.health(age: 0, retain: false), now: Self.now)
        #expect(!roster.summaries(now: Self.now)[0].problem.contains("health"))
    }

    @Test func `where the state is gone, the version stands in the health`() {
        var roster = Roster(topics: Self.topics)
        roster.saw(
            Self.message(
                "health", #"{"type":"health","status":"green","version":"1.2.3","mqtt":4,"at":\#(Self.now)}"#,
                retain: false), now: Self.now)
        let summary = roster.summaries(now: Self.now)[0]
        #expect(summary.version == "1.2.3" && summary.mqtt == "3.1.1", "\(summary)")
    }

    @Test func `a roll-out says what it can't read, and counts by what came before`() {
        var notices = RolloutNotices()
        for _ in 0..<3 { notices.unread("k1") }
        for number in 0..<20 { notices.unread("n\(number)") }
        #expect(notices.sentences.contains("k1 sent several messages that can't be read"))
        #expect(notices.sentences.count == 11, "\(notices.sentences)")

        var fleet = RolloutFleet(group: "lobby", salt: "r", topics: Self.topics)
        for message in [Self.state("online", "birth"), Self.health(age: 0, retain: true)] {
            _ = fleet.saw(message.seen, of: nil, at: 0)
        }
        for level in ["state", "health", "map/applied", "fail"] {
            let news = fleet.saw(Self.message(level, "7", retain: false).seen, of: nil, at: 1)
            guard case .unreadable? = news?.news else {
                Issue.record("\(level): \(news as Any)")
                continue
            }
            #expect(fleet.counts.online == 1)
        }
    }

    @Test func `an agent of which nothing is left is forgotten`() {
        var roster = Roster(topics: Self.topics)
        for message in [
            Self.state("offline", "shutdown"), Self.health(age: 0, retain: true), Self.applied,
            Self.cleared,
        ] {
            roster.saw(message, now: Self.now)
        }
        #expect(roster.members.isEmpty)
        #expect(AgentSelection(names: ["k1"]).fault(in: roster) != nil)
    }

    @Test func `a roll-out counts who speaks, though its state was removed`() {
        var fleet = RolloutFleet(group: "lobby", salt: "r", topics: Self.topics)
        for message in [Self.state("online", "birth"), Self.health(age: 0, retain: true), Self.cleared] {
            _ = fleet.saw(message.seen, of: nil, at: 0)
        }
        #expect(fleet.counts.online == 1)
        _ = fleet.saw(Self.state("offline", "will").seen, of: nil, at: 1)
        #expect(fleet.counts.online == 0)

        var other = RolloutFleet(group: "lobby", salt: "r", topics: Self.topics)
        _ = other.saw(Self.health(age: 0, retain: true).seen, of: nil, at: 0)
        #expect(other.counts.online == 0)
        _ = other.saw(Self.applied.seen, of: nil, at: 1)
        #expect(other.counts.online == 1)
    }

    @Test(
        arguments: [
            ("b1", []), ("b0", ["the broker's health is of an earlier start of the agent"]),
        ] as [(String, [String])])
    func `health that the broker kept is of the same start of the agent, or that is said`(
        _ boot: String, _ says: [String]
    ) {
        let (state, health) = (Self.topics.state(of: "a"), Self.topics.health(of: "a"))
        let documents = RetainedDocuments(
            "a",
            [
                state: Array(#"{"state":"online","epoch":1,"boot":"b1","why":"birth"}"#.utf8),
                health: Array(#"{"status":"green","boot":"\#(boot)"}"#.utf8),
            ], Self.topics)
        #expect(documents.documents.map(\.summary) == ["online, birth", "green"])
        #expect(documents.differences(from: AgentHealth(["boot": "b1", "status": "green"])) == says)
    }
}
