import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// A broker that takes small packets only: what grows is cut to it, and nothing old stays as the truth.
@Suite(.timeLimit(.minutes(60))) struct `Small packets` {
    /// A broker that takes no larger payload, and says so.
    private func connect(_ harness: AgentHarness, _ limit: Int) {
        harness.link.answer { $0.payload.count > limit ? .rejected(.tooLarge) : .acknowledged }
        harness.link.connect(maximumPacketSize: UInt32(limit))
    }

    // The old one stayed, and `relocate` ended with 3.
    @Test func `the map in force is cut to what the broker takes`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        connect(harness, 10_000)
        let entries = (0..<300).map {
            #"{"routerType":1,"orginPath":"scheme://a/\#($0)","targetPath":"scheme://gone/\#($0)"}"#
        }
        harness.receive(
            #"{"rev":1,"entries":[\#(entries.joined(separator: ","))]}"#, on: "waypost/v1/k1/map")
        let json = try await harness.applied { $0["layers"]?[0]?["rev"] == 1 }
        let applied = try AppliedMap(json)
        #expect(json.serialized().count <= 10_000 - 1_024)
        #expect(!applied.inactive.isEmpty)
        #expect(applied.inactive.count + applied.omitted == 300)
        #expect(applied.entries == 300)
        try await harness.until("a red check") { $0.check("routes") == false }
        try await harness.close()
    }

    @Test func `a cut map keeps its layers and its refusal, whatever the limit`() throws {
        var map = AppliedMap(
            layers: [.init(name: "agent", revision: 1, digest: "sha256:00", at: 1)],
            refused: .init(
                layer: "agent", revision: 2, digest: "sha256:11", code: .cycle,
                detail: String(repeating: "a", count: 3_000), at: 2), nextPatch: .init(base: 1, revision: 2))
        map.entries = 900
        map.inactive = (0..<300).map { .init(layer: "agent", index: $0, reason: "no route \"\($0)\"") }
        map.conditional = (0..<300).map {
            .init(layer: "agent", index: $0, state: .no, reason: "locale de: no")
        }
        for limit in [700, 2_000, 4_000, 10_000, 20_000, 30_000] {
            let cut = map.cut(to: limit)
            #expect(cut.encoded().count <= limit)
            #expect(cut.layers == map.layers && cut.nextPatch == map.nextPatch && cut.entries == 900)
            #expect(cut.refused?.digest == "sha256:11")
            #expect(cut.inactive.count + cut.conditional.count + cut.omitted == 600)
            #expect(cut.conditional.isEmpty || cut.inactive.count == 300)
            #expect(try AppliedMap(JSONValue(parsing: cut.encoded())) == cut)
        }
        #expect(map.cut(to: 100_000) == map)
    }

    @Test func `health leaves out what can be long before it is too large`() async throws {
        let harness = try await AgentHarness(isOnline: false)
        var health = harness.agent.health
        health.waiting["gates"] = .array((0..<20).map { _ in .string(String(repeating: "u", count: 2_000)) })
        health.checks[0].detail = String(repeating: "d", count: 5_000)
        let whole = health.encoded(within: 1_000_000)
        #expect(try JSONValue(parsing: whole)["omitted"] == nil)
        let cut = try JSONValue(parsing: health.encoded(within: 20_000))
        #expect(cut["omitted"] == ["waiting.gates"])
        let small = health.encoded(within: 6_000)
        #expect(small.count <= 6_000)
        #expect(try JSONValue(parsing: small)["omitted"] == ["waiting.gates", "opens", "client", "details"])
        try await harness.close()
    }

    // It had left memory, and nothing read it again before the next start.
    @Test func `a reply for which there is no smaller one goes out on the next connection`() async throws {
        let harness = try await AgentHarness(isOnline: false) { $0.logLevel = "E" }
        harness.link.answer { $0.topic.hasSuffix("/reply/me") ? .rejected(.tooLarge) : .acknowledged }
        harness.link.connect(maximumPacketSize: 100)
        harness.receive(#"{"id":"c1","type":"cancel","target":"none"}"#, on: "waypost/v1/k1/cmd/me")
        try await harness.until("a kept reply") { $0.agent.outbox.counters.kept == 1 }
        #expect(harness.check("publishes") == false)
        harness.link.disconnect()
        harness.link.answer { _ in .acknowledged }
        let before = harness.published.events.count
        harness.link.connect(sessionPresent: true)
        _ = try await harness.reply(to: "c1", after: before)
        try await harness.untilAllIsAcknowledged()
        try await harness.close()
    }

    @Test func `a page of failures is as long as the broker takes`() async throws {
        let harness = try await AgentHarness(isOnline: false) {
            $0.logLevel = "E"
            $0.limits.intakeRate = 0
        }
        connect(harness, 4_000)
        for number in 0..<60 {
            _ = try await harness.command(
                #"{"id":"o\#(number)","type":"open","url":"app://nowhere/\#(number)"}"#)
        }
        var found = 0
        var next: Int64? = .max
        for page in 0..<60 {
            guard let before = next else { break }
            let reply = try await harness.command(
                #"{"id":"f\#(page)","type":"failures","max":100,"before":\#(min(before, 1 << 50))}"#)
            #expect(reply.code == .ok)
            found += reply.result["failures"]?.arrayValue?.count ?? 0
            next = reply.result["next"]?.intValue
        }
        #expect(next == nil)
        #expect(found == 60)
        try await harness.close()
    }
}
