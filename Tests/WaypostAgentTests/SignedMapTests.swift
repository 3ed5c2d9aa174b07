import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// Maps and patches whose signatures, order and number an attacker may choose.
@Suite struct `Signed maps` {
    private static let topic = "waypost/v1/k1/map"
    private static let patchTopic = "waypost/v1/k1/map/patch"

    private func key(_ number: UInt8 = 7) throws -> SigningKey {
        try SigningKey(text: Base64.encode([UInt8](repeating: number, count: 32)))
    }

    private func router() throws -> Router {
        let router = Router()
        for name in ["a", "b", "c"] { try router.register("app://\(name)") { _ in .opened() } }
        return router
    }

    private func harness(
        in directory: String? = nil, keys: [UInt8] = [7], threshold: Int = 1, router: Router? = nil,
        _ configure: (inout AgentConfiguration) -> Void = { _ in }
    ) async throws -> AgentHarness {
        try await AgentHarness(directory: directory, router: try router ?? self.router()) { configuration in
            configuration.trust.threshold = threshold
            for number in keys {
                do {
                    try configuration.trust.pin(
                        "k\(number)", key: Base64.encode(try key(number).verifyingKey.bytes))
                } catch {
                    Issue.record("\(error)")
                }
            }
            configure(&configuration)
        }
    }

    private func entries(_ target: String) -> JSONValue {
        [["routerType": 1, "orginPath": "app://a", "targetPath": .string(target)]]
    }

    private func map(_ revision: Int64, _ target: String = "app://b") -> JSONValue {
        ["type": "map", "aud": "k1", "rev": .int(revision), "entries": entries(target)]
    }

    private func patch(_ base: Int64, _ revision: Int64, _ target: String = "app://c") -> JSONValue {
        [
            "type": "patch", "aud": "k1", "base": .int(base), "rev": .int(revision),
            "entries": entries(target),
        ]
    }

    private func signed(_ document: JSONValue, by keys: [UInt8] = [7]) throws -> String {
        var envelope = SignedEnvelope(payloadType: SignedEnvelope.mapType, payload: document.serialized())
        for number in keys { try envelope.signed(with: try key(number), id: "k\(number)") }
        return String(decoding: envelope.encoded(), as: UTF8.self)
    }

    /// The code with which a document is refused; nil when it is in force.
    private func code(_ document: JSONValue, on topic: String, in harness: AgentHarness) throws -> Code? {
        let text = try signed(document)
        harness.receive(text, on: topic)
        let refused = harness.agent.maps.applied.refused
        return refused?.digest == SHA256.label(SHA256.digest(of: Array(text.utf8))) ? refused?.code : nil
    }

    // MARK: Patches

    @Test func `a patch is taken in its place in the chain only`() async throws {
        let harness = try await harness()
        let first = patch(5, 6, "app://c")
        #expect(try code(first, on: Self.patchTopic, in: harness) == .rollback)
        #expect(try code(map(5), on: Self.topic, in: harness) == nil)
        #expect(try code(patch(4, 6), on: Self.patchTopic, in: harness) == .rollback)
        #expect(try code(patch(5, 5), on: Self.patchTopic, in: harness) == .rollback)
        #expect(try code(first, on: Self.patchTopic, in: harness) == nil)
        #expect(harness.agent.maps.applied.layers.last?.revision == 6)
        #expect(harness.agent.maps.applied.nextPatch == .init(base: 6, revision: 7))
        // The same again is in force already; another that builds on the map is too late.
        #expect(try code(first, on: Self.patchTopic, in: harness) == nil)
        #expect(try code(patch(5, 7, "app://b"), on: Self.patchTopic, in: harness) == .rollback)
        #expect(
            harness.agent.maps.applied.refused?.detail.contains("builds on rev 5; the map in force is rev 6")
                == true)
        #expect(try code(patch(6, 9, "app://b"), on: Self.patchTopic, in: harness) == nil)
        #expect(harness.agent.router.resolve("app://a").url == "app://b")
        #expect(try code(first, on: Self.patchTopic, in: harness) == .rollback)
        try await harness.close()
    }

    @Test func `a patch can't be replayed over a newer map, also after a restart`() async throws {
        let directory: String
        do {
            let harness = try await harness()
            #expect(try code(map(5), on: Self.topic, in: harness) == nil)
            #expect(try code(patch(5, 6), on: Self.patchTopic, in: harness) == nil)
            #expect(try code(patch(6, 7), on: Self.patchTopic, in: harness) == nil)
            // This map has the revision that the second patch builds on.
            #expect(try code(map(6), on: Self.topic, in: harness) == nil)
            #expect(harness.agent.maps.applied.layers.map(\.name) == ["agent"])
            #expect(try code(patch(6, 7), on: Self.patchTopic, in: harness) == .rollback)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        let again = try await harness(in: directory)
        #expect(again.agent.maps.applied.layers.map(\.name) == ["agent"])
        #expect(again.agent.maps.applied.nextPatch == .init(base: 6, revision: 8))
        #expect(try code(patch(6, 7), on: Self.patchTopic, in: again) == .rollback)
        #expect(again.agent.router.resolve("app://a").url == "app://b")
        #expect(try code(patch(6, 8), on: Self.patchTopic, in: again) == nil)
        #expect(again.agent.router.resolve("app://a").url == "app://c")
        try await again.close()
    }

    @Test func `patches of several keys stay in force over a restart`() async throws {
        let directory: String
        do {
            let harness = try await harness(keys: [7, 8])
            harness.receive(try signed(patch(0, 1), by: [7]), on: Self.patchTopic)
            harness.receive(try signed(patch(1, 2), by: [8]), on: Self.patchTopic)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        let both = try await harness(in: directory, keys: [7, 8])
        #expect(both.agent.maps.applied.layers.map(\.revision) == [2])
        try await both.close()
        // Without one of the keys, a part of the layer is not trusted, and so the layer is not.
        let one = try await harness(in: directory, keys: [8])
        #expect(one.agent.maps.applied.layers.isEmpty)
        #expect(one.agent.router.resolve("app://a").url == "app://a")
        try await one.close()
    }

    // MARK: Keys that are pinned later

    @Test func `what was stored unsigned is left out once a key is pinned, and its rev does not count`()
        async throws
    {
        let highest = Fields.largestInteger
        let directory: String
        do {
            let harness = try await harness(keys: [])
            harness.receive(map(highest).text, on: Self.topic)
            harness.receive(patch(highest - 1, highest).text, on: Self.patchTopic)
            harness.receive(entries("app://c").text, on: Self.patchTopic)
            #expect(harness.agent.router.resolve("app://a").url == "app://c")
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        let router = try router()
        let again = try await harness(in: directory, router: router)
        #expect(router.resolve("app://a").url == "app://a")
        #expect(try await again.failure { $0.code == .unsigned }.detail.contains("agent, patch"))
        #expect(again.check("map") == false)
        #expect(again.agent.maps.applied.layers.isEmpty)
        #expect(again.agent.maps.applied.inactive.map(\.layer) == ["agent", "patch"])
        #expect(try code(map(1), on: Self.topic, in: again) == nil)
        #expect(router.resolve("app://a").url == "app://b")
        #expect(again.check("map") == true)
        #expect(try code(patch(1, 2), on: Self.patchTopic, in: again) == nil)
        #expect(router.resolve("app://a").url == "app://c")
        try await again.close()
    }

    @Test func `a stored map stays out when its key is no longer trusted, or too few have signed it`()
        async throws
    {
        let directory: String
        do {
            let harness = try await harness()
            #expect(try code(map(3), on: Self.topic, in: harness) == nil)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        for (keys, threshold, isInForce) in [([8], 1, false), ([7, 8], 2, false), ([8, 7], 1, true)] {
            let again = try await harness(in: directory, keys: keys.map(UInt8.init), threshold: threshold)
            #expect(again.agent.maps.applied.layers.isEmpty != isInForce)
            try await again.close()
        }
    }

    @Test func `a stored one that the disk has changed is in force again when it comes again`() async throws {
        let directory: String
        do {
            let harness = try await harness()
            #expect(try code(map(3), on: Self.topic, in: harness) == nil)
            directory = harness.agent.configuration.stateDirectory
            try await harness.close()
        }
        let store = try Store(directory: directory)
        try store.commit { try $0.database.execute("UPDATE maps SET entries = x'5b5d'") }
        store.close()
        let again = try await harness(in: directory)
        #expect(again.agent.router.resolve("app://a").url == "app://a")
        #expect(try code(map(3), on: Self.topic, in: again) == nil)
        #expect(again.agent.router.resolve("app://a").url == "app://b")
        try await again.close()
    }

    // MARK: Too many

    @Test func `only so many a second are verified, and the newest map is applied when there is time`()
        async throws
    {
        let harness = try await harness { $0.limits.mapRate = 1 }
        // Five at once are within the limit.
        for revision in 1...5 { #expect(try code(map(Int64(revision)), on: Self.topic, in: harness) == nil) }
        #expect(try code(map(6), on: Self.topic, in: harness) == .busy)
        for _ in 0..<50 { harness.receive(try signed(map(7), by: [9]), on: Self.topic) }
        harness.receive(try signed(map(8, "app://c")), on: Self.topic)
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [5])
        // Another layer has a budget of its own.
        #expect(try code(patch(5, 6), on: Self.patchTopic, in: harness) == nil)
        harness.link.tick()
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [5, 6])
        harness.clock.advance(1_000)
        harness.link.tick()
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [8])
        #expect(harness.agent.maps.applied.refused == nil)
        _ = try await harness.failure { $0.code == .busy }
        _ = try await harness.command(#"{"id":"p","type":"ping"}"#)
        let reports = harness.published.events.filter {
            $0.topic.hasSuffix("/fail") && String(decoding: $0.payload, as: UTF8.self).contains("BUSY")
        }
        #expect(reports.count == 1)
        try await harness.close()
    }

    @Test func `a patch that came too fast is refused, and may be sent again`() async throws {
        let harness = try await harness { $0.limits.mapRate = 1 }
        for number in 1...5 as ClosedRange<Int64> {
            #expect(try code(patch(number - 1, number), on: Self.patchTopic, in: harness) == nil)
        }
        #expect(try code(patch(5, 6), on: Self.patchTopic, in: harness) == .busy)
        harness.clock.advance(1_000)
        harness.link.tick()
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [5])
        #expect(try code(patch(5, 6), on: Self.patchTopic, in: harness) == nil)
        try await harness.close()
    }

    // Each unsigned map was compiled and stored, however many came.
    @Test
    func `unsigned ones count too: what is too fast is not read, and the newest map is applied in the end`()
        async throws
    {
        let harness = try await harness(keys: []) { $0.limits.mapRate = 1 }
        for revision in 1...1_000 as ClosedRange<Int64> {
            harness.receive(map(revision).text, on: Self.topic)
            harness.receive(entries("app://c").text, on: Self.patchTopic)
        }
        let taken = harness.agent.maps.applied.layers.first?.revision
        #expect(try #require(taken) <= 10)
        #expect(harness.agent.maps.applied.refused?.code == .busy)
        harness.clock.advance(1_000)
        harness.link.tick()
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [1_000])
        // The map in force comes again too often: that leaves no refusal behind.
        for _ in 0..<100 { harness.receive(map(1_000).text, on: Self.topic) }
        harness.clock.advance(1_000)
        harness.link.tick()
        #expect(harness.agent.maps.applied.refused == nil)
        harness.receive("no JSON", on: Self.patchTopic)
        #expect(harness.agent.maps.applied.refused?.code == .badJSON)
        _ = try await harness.command(#"{"id":"p","type":"ping"}"#)
        let reports = harness.published.events.filter {
            $0.topic.hasSuffix("/fail") && String(decoding: $0.payload, as: UTF8.self).contains("BUSY")
        }
        #expect(reports.count == 2)
        try await harness.close()
    }
}
