import TestSupport
import Testing
import WaypostMessages

@testable import Waypost
@testable import WaypostAgent

@Suite struct `How opens ended, by route` {
    @Test func `health shows those of commands and of the program`() async throws {
        let router = Router()
        try router.register("a://ok/:id") { _ in .opened() }
        try router.register("a://bad") { _ in throw CancellationError() }
        try router.register("a://guarded") { _ in .opened() }
        try router.intercept("guard", scope: .patterns(["a://guarded"])) { _ in .stop(reason: "closed") }
        let harness = try await AgentHarness(router: router)
        for (number, url) in ["a://ok/1", "a://ok/2", "a://bad", "a://guarded", "a://none"].enumerated() {
            _ = try await harness.command(#"{"id":"\#(number)","type":"open","url":"\#(url)"}"#)
        }
        _ = await router.open("a://ok/3")
        let health = try await harness.command(#"{"id":"p","type":"ping"}"#).result
        let rows = try #require(health["opens"]?.arrayValue)
        let shown = rows.map { row in
            (["opened", "failed", "intercepted"].compactMap { row[$0]?.intValue }, row["route"]?.stringValue)
        }
        let counts = Dictionary(uniqueKeysWithValues: shown.map { ($0.1 ?? "?", $0.0) })
        #expect(
            counts == [
                "a://ok/:id": [3, 0, 0], "a://bad": [0, 1, 0], "a://guarded": [0, 0, 1], "": [0, 1, 0],
            ])
        // Trouble first.
        #expect(shown.last?.1 == "a://ok/:id")
        for row in rows {
            let (half, most) = (row["ms"]?["p50"]?.doubleValue ?? 0, row["ms"]?["p99"]?.doubleValue ?? 0)
            #expect(half > 0 && half <= most)
        }
        try await harness.close()
    }

    @Test func `the labels of its metrics have no secret of a pattern`() {
        let counters = RouteCounters(agent: "k1", redaction: Redaction(further: ["pin"]))
        let labels = counters.labels(of: "a://x?token=hunter2&pin=1234&y=1")
        #expect(labels.map(\.0) == ["agent", "route"])
        #expect(labels.map(\.1) == ["k1", "a://x?token=***&pin=***&y=1"])
    }

    @Test func `has a limit`() {
        let counters = RouteCounters(agent: "k1")
        for number in 0..<1_000 {
            counters.count(Opening(outcome: .opened, route: "a://\(number)", requested: "", url: ""))
        }
        let rows = counters.json
        #expect(rows.count == RouteCounters.shownRoutes)
        #expect(rows.first?["route"]?.stringValue == RouteCounters.others)
        #expect(rows.first?["opened"]?.intValue == Int64(1_000 - RouteCounters.maximumRoutes))
    }

    @Test(arguments: [
        (Duration.zero, 0.001), (.microseconds(1), 0.002), (.microseconds(100), 0.128),
        (.seconds(1), 1048.576),
        (.seconds(Int64.max), 2_147_483.648), (.seconds(-5), 0.001),
    ])
    func `an open takes less than what is shown`(duration: Duration, shown: Double) {
        let counters = RouteCounters(agent: "k1")
        var opening = Opening(outcome: .opened, route: "a://b", requested: "", url: "")
        opening.duration = duration
        counters.count(opening)
        #expect(counters.json.first?["ms"]?["p99"]?.doubleValue == shown)
    }
}
