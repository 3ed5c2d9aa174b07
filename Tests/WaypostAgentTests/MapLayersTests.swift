import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent
@testable import WaypostFleet

@Suite struct `Layers of maps` {
    private func router() throws -> Router {
        let router = Router()
        for name in ["a", "b", "c"] { try router.register("app://\(name)") { _ in .opened() } }
        return router
    }

    private func map(_ revision: Int, _ origin: String, _ target: String) -> String {
        """
        {"id":"m","type":"map","rev":\(revision),"entries":[\
        {"routerType":1,"orginPath":"\(origin)","targetPath":"\(target)"}]}
        """
    }

    private func opened(_ url: String, in harness: AgentHarness, _ id: String) async throws -> JSONValue? {
        try await harness.command("{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"\(url)\"}").result["url"]
    }

    /// A layer as an earlier build stored it, which would refuse the service URL as this one does.
    private func storeUnfit(in directory: String) throws {
        let entries =
            #"[{"routerType":1,"orginPath":"scheme://services","targetPath":"app://b"}]"#
        let store = try Store(directory: directory)
        try store.commit {
            try $0.save(
                MapRecord(
                    layer: "@all", revision: 5, revisionFloor: 5, digest: [1], applied: 1, expires: nil,
                    entries: Array(entries.utf8)))
            try $0.save(
                MapRecord(
                    layer: "k1", revision: 2, revisionFloor: 2, digest: [2], applied: 1, expires: nil,
                    entries: Array(
                        #"[{"routerType":1,"orginPath":"app://a","targetPath":"app://b"}]"#.utf8)))
        }
        store.close()
    }

    @Test func `one that does not fit this build keeps no other out, stays stored and is reported`()
        async throws
    {
        let directory = NSTemporaryDirectory() + "waypost-layers-\(UUID().uuidString)"
        try storeUnfit(in: directory)
        let harness = try await AgentHarness(directory: directory, router: router())
        #expect(try await opened("app://a", in: harness, "c1") == "app://b")
        let applied = try await harness.applied { $0["inactive"]?[0]?["layer"] == "@all" }
        #expect(applied["layers"]?.arrayValue?.map { $0["layer"] } == ["agent"])
        #expect(harness.check("map") == false)
        _ = try await harness.failure { $0.origin == .map && $0.detail.contains("@all") }

        // A good map of another layer is not refused because of it.
        harness.receive(map(3, "app://a", "app://c"), on: "waypost/v1/k1/map")
        _ = try await harness.applied { $0["layers"]?[0]?["rev"] == 3 }
        #expect(try await opened("app://a", in: harness, "c2") == "app://c")

        // Its revision is still the floor, and a good one ends it.
        harness.receive(map(4, "app://b", "app://c"), on: "waypost/v1/@all/map")
        _ = try await harness.failure { $0.code == .rollback }
        harness.receive(map(6, "app://b", "app://c"), on: "waypost/v1/@all/map")
        _ = try await harness.applied { $0["layers"]?.arrayValue?.count == 2 && $0["inactive"] == [] }
        #expect(harness.check("map") == true)
        try await harness.close()
    }

    @Test func `a map that can't be committed is not in force and not acknowledged`() async throws {
        let router = try router()
        let harness = try await AgentHarness(router: router)
        let directory = harness.agent.configuration.stateDirectory
        let switched = TestSupport.EventLog<String>()
        let reading = Task.detached {
            while !Task.isCancelled {
                if router.resolve("app://a").url != "app://a" { switched.append("switched") }
                await Task.yield()
            }
        }
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        for revision in 1...50 {
            #expect(harness.receive(map(revision, "app://a", "app://b"), on: "waypost/v1/k1/map") == .refuse)
        }
        reading.cancel()
        _ = await reading.value
        #expect(switched.events.isEmpty)
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        #expect(harness.receive(map(1, "app://a", "app://b"), on: "waypost/v1/k1/map") == .acknowledge)
        #expect(router.resolve("app://a").url == "app://b")
        try await harness.close()
    }

    @Test func `a map without a rev takes no floor away, also over a restart`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-layers-\(UUID().uuidString)"
        let first = try await AgentHarness(directory: directory, router: router())
        first.receive(map(5, "app://a", "app://b"), on: "waypost/v1/k1/map")
        let without = map(5, "app://a", "app://c").replacing("\"rev\":5,", with: "")
        first.receive(without, on: "waypost/v1/k1/map")
        #expect(first.agent.maps.applied.layers.map(\.revision) == [nil])
        first.receive(map(3, "app://b", "app://c"), on: "waypost/v1/k1/map")
        #expect(first.agent.maps.applied.refused?.code == .rollback)
        try await first.close()
        let second = try await AgentHarness(directory: directory, router: router())
        second.receive(map(4, "app://b", "app://c"), on: "waypost/v1/k1/map")
        #expect(second.agent.maps.applied.refused?.code == .rollback)
        second.receive(map(5, "app://b", "app://c"), on: "waypost/v1/k1/map")
        #expect(second.agent.maps.applied.refused?.code == .equivocation)
        second.receive(map(6, "app://b", "app://c"), on: "waypost/v1/k1/map")
        #expect(second.agent.maps.applied.layers.map(\.revision) == [6])
        #expect(second.agent.maps.applied.refused == nil)
        try await second.close()
    }

    /// What is left of a document when the next one comes.
    @Test(arguments: [
        // Each patch, `base>rev` or without one, and what the next with a revision must say after it.
        (["5>6", "", "6>7"], ["5>6", "6>7", "6>7", "7>8"]),
        (["", "5>6", "", "", "6>7"], ["5>6", "5>6", "6>7", "6>7", "6>7", "7>8"]),
        (["5>9", "", "9>10"], ["5>6", "9>10", "9>10", "10>11"]), (["", ""], ["5>6", "5>6", "5>6"]),
    ]) func `a patch without a rev leaves the chain of those with one as it is, also over a restart`(
        patches: [String], next: [String]
    ) async throws {
        let topic = "waypost/v1/k1/map/patch"
        let directory = NSTemporaryDirectory() + "waypost-layers-\(UUID().uuidString)"
        var harness = try await AgentHarness(directory: directory, router: router())
        func chain() -> String {
            harness.agent.maps.applied.nextPatch.map { "\($0.base)>\($0.revision)" } ?? ""
        }
        harness.receive(map(5, "app://a", "app://b"), on: "waypost/v1/k1/map")
        #expect(chain() == next[0])
        for (number, patch) in patches.enumerated() {
            let parts = patch.split(separator: ">")
            let fields = parts.isEmpty ? "" : "\"base\":\(parts[0]),\"rev\":\(parts[1]),"
            harness.receive(
                """
                {"id":"p\(number)","type":"patch",\(fields)"entries":[\
                {"routerType":1,"orginPath":"app://x\(number)","targetPath":"app://c"}]}
                """, on: topic)
            #expect(harness.agent.maps.applied.refused == nil, "\(patch)")
            #expect(chain() == next[number + 1], "\(patch)")
            try await harness.close()
            harness = try await AgentHarness(directory: directory, router: router())
            #expect(chain() == next[number + 1], "\(patch), over a restart")
            // All of them act, whatever they had.
            for earlier in 0...number {
                #expect(harness.agent.router.resolve("app://x\(earlier)").url == "app://c")
            }
        }
        // A new map ends them; what they used stays used.
        harness.receive(map(6, "app://a", "app://c"), on: "waypost/v1/k1/map")
        let floor = patches.compactMap { $0.split(separator: ">").last.flatMap { Int($0) } }.max() ?? 0
        #expect(chain() == "6>\(max(6, floor) + 1)")
        #expect(harness.agent.router.resolve("app://x0").url == "app://x0")
        try await harness.close()
    }

    @Test func `an agent may be called patch`() async throws {
        let harness = try await AgentHarness(router: router()) { $0.agent = "patch" }
        harness.receive(map(1, "app://a", "app://b"), on: "waypost/v1/patch/map")
        #expect(harness.agent.maps.applied.layers.map(\.name) == ["agent"])
        harness.receive(
            #"{"routerType":1,"orginPath":"app://b","targetPath":"app://c"}"#,
            on: "waypost/v1/patch/map/patch")
        #expect(harness.agent.maps.applied.layers.map(\.name) == ["agent", "patch"])
        #expect(harness.agent.router.resolve("app://a").url == "app://c")
        try await harness.close()
    }
}
