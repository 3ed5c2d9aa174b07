import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// A page for people has the size that people read, whatever stands in the documents that it is made of.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct TableBoundsTests {
    /// One long name among many short ones: a table that pads all names to the longest takes the product of both.
    private static let members: [String: JSONValue] = {
        let names = (0..<40_000).map { "n\($0)" } + [String(repeating: "x", count: 100_000)]
        return Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
    }()

    /// About 600 KB.
    private static let health: JSONValue = [
        "type": "health", "agent": "k9", "epoch": 1, "status": "red", "limits": .object(members),
        "checks": .array((0..<1_000).map { ["name": .string("c\($0)"), "ok": false, "detail": "d"] }),
    ]
    private static let state = #"{"state":"online","epoch":1,"boot":"B","why":"birth","agent":"k9","mqtt":5}"#

    @Test func `describe agent takes little memory for a document that was made to take much`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let backend = try await Backend(broker: broker.url)
        try await backend.publish(Self.state, to: "waypost/v1/k9/state", retain: true)
        try await backend.publish(Self.health.serialized(), to: "waypost/v1/k9/health", retain: true)
        let ending = try await MeasuredCommand.run(
            ["describe", "agent", "k9", "--broker", broker.url, "--wait", "60"])
        #expect(ending.status == 0)
        #expect(ending.output.contains("all 40001  at their defaults"))
        #expect(ending.output.utf8.count < 100_000)
        // Before, 4 GB.
        #expect(ending.peakMemory < 1_000_000, "\(ending.peakMemory) KiB")
        await backend.disconnect()
    }

    @Test func `the page of watch has as many lines as people read, none longer than a screen of text`()
        throws
    {
        var model = WatchModel(topics: .standard, filter: LogFilter())
        let map: JSONValue = [
            "entries": 1,
            "inactive": .array(
                (0..<5_000).map {
                    [
                        "index": .int(Int64($0)), "layer": "agent",
                        "reason": .string(String(repeating: "r", count: 2_000)),
                    ]
                }),
        ]
        for (topic, payload) in [
            ("state", Array(Self.state.utf8)), ("health", Self.health.serialized()),
            ("map/applied", map.serialized()),
        ] {
            model.saw(MQTTMessage(topic: "waypost/v1/k9/\(topic)", payload: payload))
        }
        let lines = AgentPage("k9", model.roster).lines(Style(isOn: false), now: 0).map(\.text)
        #expect(lines.count < 500)
        #expect(lines.allSatisfy { $0.utf8.count < 1_200 })
        // Two more stand in each list, beside those that were sent.
        #expect(
            lines.contains("  … and 903 more") && lines.contains("  … and 4901 more"),
            "\(lines.filter { $0.contains("more") })")
    }

    @Test func `a route with many parameters and long names is described in few short lines`() {
        let long = String(repeating: "p", count: 50_000)
        var route = RouteDescription(path: "app://a/:b", className: "A")
        route.metadata = Self.members
        route.parameters =
            [RouteParameter(long, summary: long)] + (0..<5_000).map { RouteParameter("p\($0)") }
        let lines = ContractText(style: Style(isOn: false)).lines(route).map(\.text)
        #expect(lines.count < 250)
        #expect(lines.allSatisfy { $0.utf8.count < 1_200 })
    }

    @Test func `long texts of one agent make the rows of the others no longer`() {
        var roster = Roster(topics: .standard)
        for number in 0..<1_000 {
            let version = String(repeating: "v", count: number == 7 ? 5_000 : 5)
            let state = #"{"state":"online","epoch":1,"why":"birth","version":"\#(version)"}"#
            roster.saw(MQTTMessage(topic: "waypost/v1/k\(number)/state", payload: Array(state.utf8)))
        }
        let rows = AgentTable(roster.summaries(now: 0), now: 0, isWide: true).rows()
        #expect(rows.filter { $0.agent != "k7" }.allSatisfy { $0.lines.joined().count < 250 })
        #expect(rows.contains { $0.agent == "k7" && $0.lines[0].contains("vvvvv…") })
    }

    @Test(arguments: [true, false])
    func `all of an agent's health is there, though only a part is kept as a tree`(_ keepsTexts: Bool) throws
    {
        let health: JSONValue = [
            "type": "health", "status": "red", "counters": ["received": 7],
            "checks": [
                ["name": "clock", "state": "ok", "ok": true, "detail": "ok"],
                ["name": "store", "state": "failed", "ok": false, "detail": "full"],
            ],
        ]
        var roster = Roster(topics: .standard, keepsTexts: keepsTexts)
        roster.saw(MQTTMessage(topic: "waypost/v1/k1/state", payload: Array(Self.state.utf8)))
        roster.saw(MQTTMessage(topic: "waypost/v1/k1/health", payload: health.serialized()))
        let member = try #require(roster.members["k1"])
        #expect(member.health?.checks.map(\.name) == ["store"])
        #expect(member.health?.counters.isEmpty == true)
        #expect(member.wholeHealth?.json == (keepsTexts ? health : nil))
        #expect(roster.json(of: "k1")["health"] == (keepsTexts ? health : .null))
    }

    @Test func `documents of agents count as they are held, and not as they came`() {
        var roster = Roster(topics: .standard, maximumBytes: 8_000_000)
        let health =
            #"{"status":"green","x":[\#(Array(repeating: #"{"a":0}"#, count: 12_500).joined(separator: ","))]}"#
        for number in 0..<20 {
            roster.saw(MQTTMessage(topic: "waypost/v1/k\(number)/health", payload: Array(health.utf8)))
        }
        #expect(roster.gap != nil)
        #expect(roster.members.count == 2)
        // What an agent says again takes the place of what it said before.
        roster.saw(MQTTMessage(topic: "waypost/v1/k0/health", payload: Array(#"{"status":"red"}"#.utf8)))
        roster.saw(MQTTMessage(topic: "waypost/v1/k5/health", payload: Array(health.utf8)))
        #expect(roster.members.count == 3)
    }

    @Test func `groups of failures have a bound in bytes, and long texts make no other row longer`() throws {
        var groups = FailureGroups()
        let long = String(repeating: "x", count: 100_000)
        for number in 0..<1_000 {
            let url = "app://a/\(number)" + (number == 7 ? long : "")
            groups.add(
                FailureReport(
                    id: "\(number)", code: .noRoute, origin: .router, url: url, detail: long, at: 0),
                of: "k9")
        }
        let lines = groups.table(Style(isOn: false)).map(\.text)
        #expect(lines.count == 1_001)
        #expect(lines.filter { !$0.contains("xxx") }.count == 1_000)
        #expect(lines.allSatisfy { $0.utf8.count < 1_500 })
        #expect(groups.sorted.allSatisfy { $0.detail.utf8.count <= 2_048 && $0.subject.utf8.count <= 2_048 })
        for number in 0..<1_000 {
            groups.add(
                FailureReport(
                    id: "\(number)", code: .unknown(number: 599, name: "\(number)\(long)"), origin: .router,
                    detail: "", at: 0), of: "k9")
        }
        #expect(groups.isFull)
    }
}
