import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent
@testable import WaypostFleet

/// Maps whose redirects take one URL all together: they may cost a moment, and no more.
@Suite(.serialized, .timeLimit(.minutes(60))) struct `Costly maps` {
    private static let map = "waypost/v1/k1/map"

    /// Each origin another pattern, and all of them take one URL; nothing of it is wrong.
    private static let entries: JSONValue = {
        let ones = "waypost~sample"
        let target = "scheme://" + Array(repeating: ones, count: 11).joined(separator: "/")
        return .array(
            (0..<700).map { number in
                let origin = (0..<11).map { number >> $0 & 1 == 0 ? ":p\($0)" : ones }
                return [
                    "routerType": 1, "orginPath": .string("scheme://" + origin.joined(separator: "/")),
                    "targetPath": .string(target), "except": ["scheme://**"],
                ]
            })
    }()

    private static func document(_ revision: Int64) -> String {
        String(decoding: MapDocument.map(id: "m", revision: revision, entries: entries), as: UTF8.self)
    }

    private static let small =
        #"{"rev":9,"entries":[{"routerType":1,"orginPath":"scheme://a","targetPath":"scheme://b"}]}"#

    /// A part of what is allowed, for a program that was not built for release is much slower.
    private func router() throws -> Router {
        var configuration = RouterConfiguration()
        configuration.mapSteps = RelocationSteps(left: 100_000)
        let router = Router(configuration: configuration)
        try router.register("scheme://b", name: "B") { _ in .opened() }
        return router
    }

    @Test func `one is refused with the numbers, and the next of its kind waits for its time`() async throws {
        let harness = try await AgentHarness(router: router()) {
            $0.limits.mapBytes = 1 << 20
            $0.limits.mapRate = 1
        }
        try await offThePool {
            for revision in Int64(1)...4 { harness.receive(Self.document(revision), on: Self.map) }
        }
        let report = try await harness.failure { $0.code == .chain }
        #expect(report.detail.contains("700 entries lead takes more than 100000 steps"))
        // Each counts as those of a second do, beside itself: of five at once there is none left for a fourth.
        _ = try await harness.failure { $0.code == .busy }
        #expect(harness.agent.router.layers.isEmpty)
        harness.clock.advance(60_000)
        harness.receive(Self.small, on: Self.map)
        _ = try await harness.applied { $0["layers"]?[0]?["rev"] == 9 }
        try await harness.close()
    }

    // It held the start as long as it had held the link: 20 to 40 s, and two of them longer than systemd waits.
    @Test func `a stored one is left out at the start and reported, and keeps no other out`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-costly-\(UUID().uuidString)"
        do {
            let store = try Store(directory: directory)
            let costly = try #require(Self.entries.serialized() as [UInt8]?)
            try store.commit { transaction in
                for (layer, entries) in [
                    ("k1", costly),
                    (
                        "@fleet",
                        Array(#"[{"routerType":1,"orginPath":"scheme://a","targetPath":"scheme://b"}]"#.utf8)
                    ),
                ] {
                    try transaction.save(
                        MapRecord(
                            layer: layer, revision: 1, revisionFloor: 1, digest: SHA256.digest(of: entries),
                            applied: 1, expires: nil, entries: entries, signers: []))
                }
            }
        }
        let harness = try await AgentHarness(directory: directory, router: router())
        let report = try await harness.failure { $0.code == .chain }
        #expect(report.detail.contains("is left out"))
        #expect(harness.agent.maps.unfit == ["agent"])
        let applied = try await harness.applied()
        #expect(applied["layers"]?.arrayValue?.compactMap { $0["layer"]?.stringValue } == ["@fleet"])
        let reply = try await harness.command(#"{"id":"c1","type":"open","url":"scheme://a"}"#)
        #expect(reply.result["route"] == "scheme://b")
        try await harness.close()
    }
}
