import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `Maps` {
    private static let map = "waypost/v1/k1/map"
    private static let redirect =
        #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}"#

    private func router() throws -> Router {
        let router = Router()
        for name in ["demo", "demo1", "demo2", "demo3"] {
            try router.register("scheme://router/\(name)", name: "Demo.\(name)") { _ in .opened() }
        }
        return router
    }

    private func document(_ revision: Int, _ entries: String...) -> String {
        "{\"id\":\"m\",\"type\":\"map\",\"rev\":\(revision),\"entries\":[\(entries.joined(separator: ","))]}"
    }

    private func route(_ url: String, in harness: AgentHarness, id: String) async throws -> JSONValue? {
        try await harness.command("{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"\(url)\"}").result["route"]
    }

    @Test func `a map redirects, a higher revision takes it back`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(document(1, Self.redirect), on: Self.map)
        #expect(try await route("scheme://router/demo", in: harness, id: "a") == "scheme://router/demo1")
        harness.receive(document(2), on: Self.map)
        #expect(try await route("scheme://router/demo", in: harness, id: "b") == "scheme://router/demo")
    }

    @Test func `a revision that is lower, or the same with other bytes, is refused`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(document(42, Self.redirect), on: Self.map)
        harness.receive(document(41), on: Self.map)
        _ = try await harness.failure { $0.code == .rollback }
        harness.receive(document(42), on: Self.map)
        _ = try await harness.failure { $0.code == .equivocation }
        #expect(try await route("scheme://router/demo", in: harness, id: "a") == "scheme://router/demo1")
    }

    @Test func `the same document again changes nothing`() async throws {
        let harness = try await AgentHarness(router: router()) { $0.logLevel = "d" }
        harness.receive(document(1, Self.redirect), on: Self.map)
        let before = try await harness.applied { $0["layers"] != [] }
        let published = harness.published.events.count
        harness.receive(document(1, Self.redirect), on: Self.map)
        _ = try await harness.event(after: published) { $0.message.contains("already in force") }
        let applied = harness.published.events.dropFirst(published).filter {
            $0.topic.hasSuffix("map/applied")
        }
        // What the start had still to publish may come now; it says the same.
        #expect(applied.allSatisfy { (try? JSONValue(parsing: $0.payload)) == before })
        #expect(
            harness.agent.maps.applied.layers.first?.digest == before["layers"]?[0]?["digest"]?.stringValue)
    }

    @Test func `one bad entry refuses the document and the map in force stays`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(document(1, Self.redirect), on: Self.map)
        harness.receive(document(2, Self.redirect, #"{"routerType":"1"}"#), on: Self.map)
        let refusal = try await harness.failure { $0.origin == .map }
        #expect(refusal.code == .badField)
        #expect(refusal.detail.contains("1"))
        let applied = try await harness.applied { $0["refused"]?.isNull == false }
        #expect(applied["refused"]?["code"] == 422)
        #expect(try await route("scheme://router/demo", in: harness, id: "a") == "scheme://router/demo1")
    }

    @Test func `a document that was refused before is said to be refused each time that it comes`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        let bad = document(2, #"{"routerType":"1"}"#)
        harness.receive(bad, on: Self.map)
        _ = try await harness.applied { $0["refused"]?.isNull == false }
        let count = harness.published.events.count
        harness.receive(bad, on: Self.map)
        let again = try await harness.applied(after: count)
        #expect(again["refused"]?["digest"] == .string(SHA256.label(SHA256.digest(of: Array(bad.utf8)))))
        // It is one failure.
        try await harness.until("the failure") { harness in
            harness.published.events.contains { $0.topic.hasSuffix("/fail") }
        }
        #expect(harness.published.events.filter { $0.topic.hasSuffix("/fail") }.count == 1)
    }

    @Test func `an empty payload changes nothing and is logged`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(document(1, Self.redirect), on: Self.map)
        harness.receive("", on: Self.map)
        _ = try await harness.event { $0.level == .warning && $0.message.contains("empty payload") }
        #expect(try await route("scheme://router/demo", in: harness, id: "a") == "scheme://router/demo1")
    }

    @Test func `the agent's own map lies over its groups' and these over that of all`() async throws {
        let harness = try await AgentHarness(router: router())
        func redirect(to target: String) -> String {
            "[{\"routerType\":1,\"orginPath\":\"scheme://router/demo\",\"targetPath\":\"scheme://router/\(target)\"}]"
        }
        harness.receive(redirect(to: "demo1"), on: "waypost/v1/@all/map")
        #expect(try await route("scheme://router/demo", in: harness, id: "a") == "scheme://router/demo1")
        harness.receive(redirect(to: "demo3"), on: Self.map)
        #expect(try await route("scheme://router/demo", in: harness, id: "b") == "scheme://router/demo3")
        // A lower layer that comes later stays below.
        harness.receive(redirect(to: "demo2"), on: "waypost/v1/@fleet/map")
        #expect(try await route("scheme://router/demo", in: harness, id: "c") == "scheme://router/demo3")
        harness.receive("[]", on: Self.map)
        #expect(try await route("scheme://router/demo", in: harness, id: "d") == "scheme://router/demo2")
    }

    @Test func `patches add up in order, and a new map empties them`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(Self.redirect, on: Self.map + "/patch")
        #expect(try await route("scheme://router/demo", in: harness, id: "a") == "scheme://router/demo1")
        harness.receive(
            #"[{"routerType":2,"path":"scheme://router/demo33","className":"Demo.demo3"}]"#,
            on: Self.map + "/patch")
        #expect(try await route("scheme://router/demo33", in: harness, id: "b") == "scheme://router/demo33")
        #expect(try await route("scheme://router/demo", in: harness, id: "c") == "scheme://router/demo1")
        harness.receive(document(1), on: Self.map)
        #expect(try await route("scheme://router/demo", in: harness, id: "d") == "scheme://router/demo")
    }

    @Test func `a map for somebody else is refused`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(#"{"id":"m","type":"map","rev":1,"aud":"k2","entries":[]}"#, on: Self.map)
        #expect(try await harness.failure { $0.origin == .map }.code == .badField)
    }

    @Test func `a redirect without a target in this build is inactive, with its index`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(
            document(
                1, #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/gone"}"#
            ),
            on: Self.map)
        let applied = try await harness.applied { $0["inactive"]?.arrayValue?.isEmpty == false }
        #expect(applied["inactive"]?[0]?["index"] == 0)
        #expect(try await route("scheme://router/demo", in: harness, id: "a") == "scheme://router/demo")
    }

    @Test func `the last good map is in force again before the network is there`() async throws {
        var directory = ""
        do {
            let harness = try await AgentHarness(router: router())
            directory = harness.agent.configuration.stateDirectory
            harness.receive(document(7, Self.redirect), on: Self.map)
            try await harness.close()
        }
        let router = try router()
        let harness = try await AgentHarness(directory: directory, router: router, isOnline: false)
        #expect(harness.agent.maps.applied.layers.map(\.revision) == [7])
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo1")
        harness.link.connect()
        harness.receive(document(6), on: Self.map)
        #expect(try await harness.failure { $0.origin == .map }.code == .rollback)
        #expect(await router.open("scheme://router/demo").route == "scheme://router/demo1")
        try await harness.close()
    }

    @Test func `an agent never takes away what the program relocated itself`() async throws {
        let router = try router()
        try router.patch([
            RelocationEntry(.replace(origin: "scheme://router/demo2", target: "scheme://router/demo3"))
        ])
        let harness = try await AgentHarness(router: router)
        #expect(try await route("scheme://router/demo2", in: harness, id: "a") == "scheme://router/demo3")
        harness.receive(document(1, Self.redirect), on: Self.map)
        #expect(try await route("scheme://router/demo", in: harness, id: "b") == "scheme://router/demo1")
        #expect(try await route("scheme://router/demo2", in: harness, id: "c") == "scheme://router/demo3")
        harness.receive(document(2), on: Self.map)
        #expect(try await route("scheme://router/demo", in: harness, id: "d") == "scheme://router/demo")
        #expect(try await route("scheme://router/demo2", in: harness, id: "e") == "scheme://router/demo3")
        try router.patch([
            RelocationEntry(.replace(origin: "scheme://router/demo3", target: "scheme://router/demo1"))
        ])
        harness.receive(document(3, Self.redirect), on: Self.map)
        #expect(try await route("scheme://router/demo2", in: harness, id: "f") == "scheme://router/demo1")
        #expect(try await route("scheme://router/demo", in: harness, id: "g") == "scheme://router/demo1")
    }
}
