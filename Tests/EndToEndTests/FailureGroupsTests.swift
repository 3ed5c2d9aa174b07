import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// How failures of the past are grouped, without a broker.
@Suite struct FailureGroupsTests {
    private static func report(_ url: String, _ detail: String, at time: Int64) -> FailureReport {
        FailureReport(id: "f", code: .noRoute, origin: .router, url: url, detail: detail, at: time)
    }

    @Test func `a group has the times of all, the words of the latest, and the newest group comes first`() {
        var groups = FailureGroups()
        groups.add(Self.report("a://x?id=1", "middle", at: 20), of: "k1")
        groups.add(Self.report("a://x?id=2", "latest", at: 30), of: "k2")
        groups.add(Self.report("a://x", "oldest", at: 10), of: "k1")
        groups.add(Self.report("a://y", "other", at: 40), of: "k1")
        let json = groups.sorted.map(\.json)
        #expect(json.map { $0["url"] } == ["a://y", "a://x"])
        #expect(json[1]["detail"] == "latest")
        #expect([json[1]["first"], json[1]["last"], json[1]["count"]] == [10, 30, 3])
        #expect(json[1]["agents"] == ["k1", "k2"])
    }

    @Test func `a group that does not name all of its agents says so`() {
        for (known, count, text) in [(100, 100, "100"), (100, 101, "100+"), (100_000, 101, "101")] {
            var groups = FailureGroups(maximumAgents: known)
            for number in 0..<count { groups.add(Self.report("a://x", "d", at: 1), of: "k\(number)") }
            // What one of them says again makes it no other.
            groups.add(Self.report("a://x", "d", at: 2), of: "k0")
            #expect(groups.sorted.map(\.agentText) == [text])
            #expect(groups.sorted.map(\.json["moreAgents"]) == [.bool(text.hasSuffix("+"))])
        }
    }
}
