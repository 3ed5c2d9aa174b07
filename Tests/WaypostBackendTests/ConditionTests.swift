import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend
@testable import WaypostFleet

/// What is said of an agent for all that can be known of it: what is not known is not good.
@Suite struct ConditionTests {
    private static let topics = Topics.standard
    private static let now: Int64 = 1_800_000_000_000

    /// What came of an agent on one of its topics, oldest first.
    private struct Story {
        var name: String
        var payloads: [String]
    }

    private static func presence(_ state: String, _ why: String) -> String {
        #"{"state":"\#(state)","epoch":7,"boot":"b","why":"\#(why)"}"#
    }

    private static func health(_ status: String, epoch: Int64? = 7, _ more: String = "") -> String {
        let epoch = epoch.map { #","epoch":\#($0)"# } ?? ""
        return #"{"type":"health","status":"\#(status)","at":\#(now),"checks":[]\#(epoch)\#(more)}"#
    }

    private static let states = [
        Story(name: "no state", payloads: []), Story(name: "online", payloads: [presence("online", "birth")]),
        Story(name: "lost", payloads: [presence("offline", "will")]),
        Story(name: "shut down", payloads: [presence("offline", "shutdown")]),
        Story(name: "online, unreadable", payloads: [presence("online", "birth"), "{"]),
    ]

    private static let healths = [
        Story(name: "no health", payloads: []), Story(name: "green", payloads: [health("green")]),
        Story(name: "green without epoch", payloads: [health("green", epoch: nil)]),
        Story(name: "red", payloads: [health("red")]), Story(name: "unknown", payloads: [health("unknown")]),
        Story(name: "a new word", payloads: [health("teal")]), Story(name: "no word", payloads: ["{}"]),
        Story(name: "unreadable", payloads: ["[]"]), Story(name: "empty", payloads: [""]),
        Story(name: "green, then unreadable", payloads: [health("green"), "x"]),
        Story(name: "red, then unreadable", payloads: [health("red"), "x"]),
        Story(name: "unreadable, then green", payloads: ["x", health("green")]),
        Story(name: "older, green", payloads: [health("green", epoch: 6)]),
        Story(name: "older, red", payloads: [health("red", epoch: 6)]),
        Story(name: "older, then of now", payloads: [health("red", epoch: 6), health("green")]),
    ]

    private static let maps = [
        Story(name: "no map", payloads: []), Story(name: "a map", payloads: [#"{"at":1,"layers":[]}"#]),
        Story(name: "unreadable map", payloads: ["7"]),
        Story(
            name: "refused map",
            payloads: [
                #"{"at":1,"layers":[],"refused":{"layer":"self","rev":2,"code":422,"name":"UNKNOWN_KIND","detail":"d"}}"#
            ]),
    ]

    private static func member(_ state: Story, _ health: Story, _ map: Story) -> (Roster, AgentStatus?) {
        var roster = Roster(topics: topics)
        for (topic, story) in [
            (topics.state(of: "a"), state), (topics.health(of: "a"), health), (topics.applied(of: "a"), map),
        ] {
            for payload in story.payloads {
                roster.saw(MQTTMessage(topic: topic, payload: Array(payload.utf8), retain: true), now: now)
            }
        }
        return (roster, roster.summaries(now: now).first)
    }

    @Test func `healthy is only who is online, and said so on this connection, with all of it read`() {
        var found: Set<AgentStatus.Condition> = []
        let goodHealths = ["green", "green without epoch", "unreadable, then green", "older, then of now"]
        for state in Self.states {
            for health in Self.healths {
                for map in Self.maps {
                    let name = "\(state.name), \(health.name), \(map.name)"
                    guard let summary = Self.member(state, health, map).1 else { continue }
                    found.insert(summary.condition)
                    // Where nothing says which connection there is, who spoke a moment ago is there.
                    let isOlder = state.name == "no state" && health.name == "older, green"
                    let isGood =
                        ["online", "no state"].contains(state.name)
                        && (goodHealths.contains(health.name) || isOlder)
                        && ["no map", "a map"].contains(map.name)
                    #expect((summary.condition == .healthy) == isGood, "\(name)")
                    #expect((summary.condition == .healthy) == isGood, "\(name)")
                    // Who is online and not healthy has a reason that people read.
                    let isSilent = summary.problem.isEmpty && summary.isOnline == true
                    #expect(!isSilent || isGood || summary.health != "green", "\(name)")
                }
            }
        }
        #expect(found == [.lost, .failing, .mapRefused, .unclear, .unknown, .stopped, .healthy])
    }

    @Test(arguments: ["no health", "empty", "older, green", "older, red"])
    func `health that did not come is said to be not known`(_ health: String) throws {
        let story = try #require(Self.healths.first { $0.name == health })
        let summary = try #require(Self.member(Self.states[1], story, Self.maps[0]).1)
        #expect(summary.condition == .unclear && summary.condition.isTrouble)
        #expect(summary.health == "?" && summary.problem == Roster.Member.hasNoHealth)
    }

    @Test func `what failed before a document that can't be read has not passed`() throws {
        let story = try #require(Self.healths.first { $0.name == "red, then unreadable" })
        let summary = try #require(Self.member(Self.states[1], story, Self.maps[0]).1)
        #expect(summary.condition == .failing && summary.problem.contains("its health can't be read"))
    }
}
