import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// Maps that end, maps that come again, and maps that must be signed.
@Suite struct `Maps over time` {
    private static let topic = "waypost/v1/k1/map"
    private static let hour: Int64 = 3_600_000

    private func router() throws -> Router {
        let router = Router()
        for name in ["demo", "demo1"] {
            try router.register("scheme://router/\(name)", name: name) { _ in .opened() }
        }
        return router
    }

    private func map(_ revision: Int, expires: Int64? = nil, audience: String? = nil) -> String {
        var members: [String: JSONValue] = [
            "id": "m", "type": "map", "rev": .int(Int64(revision)),
            "entries": [
                [
                    "routerType": 1, "orginPath": "scheme://router/demo",
                    "targetPath": "scheme://router/demo1",
                ]
            ],
        ]
        if let expires { members["exp"] = .int(expires) }
        if let audience { members["aud"] = .string(audience) }
        return JSONValue.object(members).text
    }

    private func target(in harness: AgentHarness, _ id: String) async throws -> JSONValue? {
        try await harness.command(#"{"id":"\#(id)","type":"open","url":"scheme://router/demo"}"#).result[
            "route"]
    }

    @Test func `one whose exp passes stays in force, turns health red and is reported every hour`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        let end = harness.clock.now + 60_000
        harness.receive(map(1, expires: end), on: Self.topic)
        harness.checkExpiry()
        #expect(harness.check("map") == true)

        // In small steps, as time goes: a clock that jumps is not believed.
        harness.clock.advance(60_000)
        harness.checkExpiry()
        let report = try await harness.failure { $0.code == .mapExpired }
        #expect(report.origin == .map)
        #expect(report.detail.contains("agent rev 1"))
        _ = try await harness.event { $0.tag == "Map" && $0.message.hasPrefix("expired agent rev 1") }
        #expect(harness.check("map") == false)
        #expect(try await target(in: harness, "a") == "scheme://router/demo1")

        // The same retained document again is still the one in force.
        let before = harness.published.events.count
        harness.receive(map(1, expires: end), on: Self.topic, retain: true)
        harness.clock.advance(Self.hour - 1)
        harness.checkExpiry()
        harness.clock.advance(1)
        harness.checkExpiry()
        _ = try await harness.failure(after: before) { $0.code == .mapExpired }
        let reports = harness.published.events.dropFirst(before).filter {
            $0.topic.hasSuffix("/fail") && String(decoding: $0.payload, as: UTF8.self).contains("MAP_EXPIRED")
        }
        #expect(reports.count == 1)

        harness.receive(map(2, expires: harness.clock.now + 1), on: Self.topic)
        #expect(harness.check("map") == true)
    }

    @Test func `one whose exp passes is left out where that is wanted, also after a restart`() async throws {
        let clock = TurnedClock()
        let end = clock.now + 60_000
        let directory: String
        do {
            let harness = try await AgentHarness(clock: clock, router: router()) { $0.mapExpiry = .revert }
            harness.receive(map(1, expires: end), on: Self.topic)
            #expect(try await target(in: harness, "a") == "scheme://router/demo1")
            clock.advance(60_000)
            harness.checkExpiry()
            _ = try await harness.applied { $0["layers"] == [] }
            #expect(try await target(in: harness, "b") == "scheme://router/demo")
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }

        let again = try await AgentHarness(directory: directory, clock: clock, router: router()) {
            $0.mapExpiry = .revert
        }
        #expect(try await target(in: again, "c") == "scheme://router/demo")
        again.checkExpiry()
        _ = try await again.failure { $0.code == .mapExpired }
        // Its revision is still the floor.
        again.receive(map(1, expires: end + 1), on: Self.topic)
        #expect(try await again.failure { $0.origin == .map && $0.code != .mapExpired }.code == .equivocation)
    }

    @Test func `one with an exp is left out after a restart as long as the clock can't be trusted`()
        async throws
    {
        let clock = TurnedClock()
        let directory: String
        do {
            let harness = try await AgentHarness(clock: clock, router: router()) { $0.mapExpiry = .revert }
            harness.receive(map(1, expires: clock.now + Self.hour), on: Self.topic)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        clock.step(ClockCheck.buildDate - 1 - clock.now)
        let router = try router()
        let again = try await AgentHarness(directory: directory, clock: clock, router: router) {
            $0.mapExpiry = .revert
        }
        #expect(router.resolve("scheme://router/demo").url == "scheme://router/demo")
        clock.step(TurnedClock.start - clock.now)
        again.checkExpiry()
        clock.advance(61_000)
        again.checkExpiry()
        #expect(router.resolve("scheme://router/demo").url == "scheme://router/demo1")
        try await again.close()
    }

    @Test func `an expired one is not in force for a moment at the start`() async throws {
        let clock = TurnedClock()
        let directory: String
        do {
            let harness = try await AgentHarness(clock: clock, router: router())
            harness.receive(map(1, expires: clock.now + 1_000), on: Self.topic)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        clock.advance(1_000)
        let router = try router()
        let seen = TestSupport.EventLog<String>()
        let reading = Task.detached {
            while !Task.isCancelled {
                let url = router.resolve("scheme://router/demo").url
                if url != "scheme://router/demo" { seen.append(url) }
                await Task.yield()
            }
        }
        let again = try await AgentHarness(directory: directory, clock: clock, router: router) {
            $0.mapExpiry = .revert
        }
        reading.cancel()
        _ = await reading.value
        #expect(seen.events.isEmpty)
        #expect(router.resolve("scheme://router/demo").url == "scheme://router/demo")
        try await again.close()
    }

    @Test func `one whose exp has passed is not applied anew`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(map(1, expires: harness.clock.now), on: Self.topic)
        #expect(try await harness.failure { $0.origin == .map }.code == .expired)
        #expect(try await target(in: harness, "a") == "scheme://router/demo")
    }

    @Test func `one with an exp waits for a clock that can be trusted`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(map(1), on: Self.topic)
        harness.clock.step(-120_000)
        harness.receive(map(2, expires: harness.clock.now + Self.hour), on: Self.topic)
        #expect(try await harness.failure { $0.origin == .map }.code == .clock)
        harness.clock.advance(61_000)
        harness.receive(map(2, expires: harness.clock.now + Self.hour), on: Self.topic)
        _ = try await harness.applied { $0["layers"]?[0]?["rev"] == 2 }
    }

    @Test func `a clock that steps ends no map`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(map(1, expires: harness.clock.now + Self.hour), on: Self.topic)
        harness.clock.step(2 * Self.hour)
        harness.checkExpiry()
        #expect(harness.check("map") == true)
    }

    @Test func `a refused one that is retained is reported once, also after a restart`() async throws {
        let clock = TurnedClock()
        let bad = #"{"id":"m","type":"map","rev":3,"entries":[{"routerType":9}]}"#
        let directory: String
        do {
            let harness = try await AgentHarness(clock: clock, router: router())
            harness.receive(bad, on: Self.topic, retain: true)
            _ = try await harness.failure { $0.origin == .map }
            let refused = try await harness.applied { $0["refused"]?["code"] == 422 }
            #expect(
                refused["refused"]?["digest"] == .string(SHA256.label(SHA256.digest(of: Array(bad.utf8)))))
            #expect(refused["refused"]?["layer"] == "agent")
            harness.receive(bad, on: Self.topic, retain: true)
            _ = try await harness.command(#"{"id":"p","type":"ping"}"#)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
            #expect(harness.published.events.count { $0.topic.hasSuffix("/fail") } == 1)
        }

        let again = try await AgentHarness(directory: directory, clock: clock, router: router())
        #expect(again.agent.maps.applied.refused?.code == .badField)
        again.receive(bad, on: Self.topic, retain: true)
        _ = try await again.command(#"{"id":"q","type":"ping"}"#)
        #expect(!again.published.events.contains { $0.topic.hasSuffix("/fail") })
        // Another one is news, and a good one ends it.
        again.receive(#"{"id":"m","type":"map","rev":4,"entries":[{"routerType":8}]}"#, on: Self.topic)
        _ = try await again.failure { $0.origin == .map }
        again.receive(map(5), on: Self.topic)
        _ = try await again.applied { $0["refused"] == .null && $0["layers"]?[0]?["rev"] == 5 }
    }

    // MARK: Signed

    private static let key = try? SigningKey(text: Base64.encode([UInt8](repeating: 7, count: 32)))

    private func signed(
        _ document: String, by key: SigningKey?, _ change: (inout SignedEnvelope) -> Void = { _ in }
    )
        throws -> String
    {
        var envelope = SignedEnvelope(payloadType: SignedEnvelope.mapType, payload: Array(document.utf8))
        try envelope.signed(with: try #require(key), id: "release")
        change(&envelope)
        return String(decoding: envelope.encoded(), as: UTF8.self)
    }

    private func trusting() async throws -> AgentHarness {
        let key = try #require(Self.key)
        return try await AgentHarness(router: router()) { configuration in
            do {
                try configuration.trust.pin("release", key: Base64.encode(key.verifyingKey.bytes))
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    @Test func `a signed one is applied once a key is pinned, and a signed patch too`() async throws {
        let harness = try await trusting()
        harness.receive(try signed(map(1, audience: "k1"), by: Self.key), on: Self.topic)
        #expect(try await target(in: harness, "a") == "scheme://router/demo1")
        let patch =
            #"{"type":"patch","aud":"k1","base":1,"rev":2,"entries":[{"routerType":4,"orginPath":"scheme://router/demo"}]}"#
        harness.receive(try signed(patch, by: Self.key), on: Self.topic + "/patch")
        #expect(try await target(in: harness, "b") == "scheme://router/demo")
    }

    @Test func `an unsigned one is refused once a key is pinned, bare forms too`() async throws {
        let harness = try await trusting()
        for (topic, document) in [
            (Self.topic, map(1, audience: "k1")), (Self.topic, "[]"), (Self.topic + "/patch", "[]"),
            ("waypost/v1/@all/map", "[]"),
        ] {
            // Equal reports within ten seconds are one.
            harness.clock.advance(10_000)
            let before = harness.published.events.count
            harness.receive(document, on: topic)
            #expect(try await harness.failure(after: before) { $0.origin == .map }.code == .unsigned)
        }
        #expect(try await target(in: harness, "a") == "scheme://router/demo")
    }

    @Test func `one that was changed, or signed by another, is refused`() async throws {
        let harness = try await trusting()
        let stranger = try SigningKey(text: Base64.encode([UInt8](repeating: 8, count: 32)))
        let good = map(1, audience: "k1")
        for document in [
            try signed(good, by: stranger),
            try signed(good, by: Self.key) { $0.payload[12] ^= 1 },
            try signed(good, by: Self.key) { $0.payloadType = "application/json" },
            try signed(good, by: Self.key) { $0.signatures = [] },
        ] {
            // Equal reports within ten seconds are one.
            harness.clock.advance(10_000)
            let before = harness.published.events.count
            harness.receive(document, on: Self.topic)
            #expect(try await harness.failure(after: before) { $0.origin == .map }.code == .badSignature)
        }
    }

    @Test func `a signed one must name whom it is for`() async throws {
        let harness = try await trusting()
        for document in [map(1), map(1, audience: "k2"), map(1, audience: "@all")] {
            harness.clock.advance(10_000)
            let before = harness.published.events.count
            harness.receive(try signed(document, by: Self.key), on: Self.topic)
            #expect(try await harness.failure(after: before) { $0.origin == .map }.code == .badField)
        }
    }

    @Test func `a signed one is read where no key is pinned`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(try signed(map(1), by: Self.key), on: Self.topic)
        #expect(try await target(in: harness, "a") == "scheme://router/demo1")
    }
}
