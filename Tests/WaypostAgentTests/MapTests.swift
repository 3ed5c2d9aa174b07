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

    @Test func `what a map switches off, answers and replaces is so for commands, and again after a restart`()
        async throws
    {
        func program() throws -> Router {
            let router = try self.router()
            try router.services.expose(
                ExposedService("S", make: { 1 }) {
                    Exposed("one(a:)") { (_: Int, a: Int) in a }
                    Exposed("two(a:)") { (_: Int, a: Int) in 2 * a }
                    Exposed("three()") { (_: Int) in 3 }
                })
            router.gate("door") { _ in .stop(reason: "shut") }
            return router
        }
        let map = document(
            1, #"{"routerType":"replace","service":"S","method":"one","by":{"method":"two"}}"#,
            #"{"routerType":"answer","service":"S","method":"three","value":33}"#,
            #"{"routerType":"off","path":"scheme://router/demo","reason":"closed"}"#,
            #"{"routerType":"gate","path":"scheme://router/demo1","gate":"door"}"#)
        func look(_ harness: AgentHarness, _ run: String) async throws {
            func reply(_ id: String, _ rest: String) async throws -> Reply {
                try await harness.command(#"{"id":"\#(run)\#(id)",\#(rest)}"#)
            }
            #expect(
                try await reply("1", #""type":"call","service":"S","method":"one","args":[5]"#).result == 10)
            #expect(try await reply("2", #""type":"call","service":"S","method":"three""#).result == 33)
            let off = try await reply("3", #""type":"open","url":"scheme://router/demo""#)
            #expect(off.code == .switchedOff && off.status == .rejected && off.detail == "closed")
            #expect(
                try await reply("4", #""type":"open","url":"scheme://router/demo1""#).code == .intercepted)
            let found = try await reply(
                "5",
                #""type":"resolve","urls":["scheme://router/demo"],"calls":[{"service":"S","method":"one"},{"service":"S","method":"three"}]"#
            )
            let resolved = found.result["resolved"]
            #expect(resolved?[0]?["failure"]?["name"] == "SWITCHED_OFF", "\(found.result.text)")
            #expect(
                resolved?[1]?["method"] == "two(a:)" && resolved?[1]?["url"] == "S.one",
                "\(found.result.text)")
            #expect(resolved?[2]?["answer"] == "33", "\(found.result.text)")
            #expect(try await reply("6", #""type":"resolve","calls":[{"service":"S"}]"#).code == .badField)
        }
        let harness = try await AgentHarness(router: program())
        let directory = harness.agent.configuration.stateDirectory
        harness.receive(map, on: Self.map)
        try await look(harness, "a")
        try await harness.close()
        let router = try program()
        let next = try await AgentHarness(directory: directory, router: router, isOnline: false)
        #expect(await router.open("scheme://router/demo").code == .switchedOff)
        #expect(try await router.services.call("S", "one", with: 5, as: Int.self) == 10)
        next.link.connect()
        try await look(next, "b")
        next.receive(document(2, #"{"routerType":"teleport","path":"scheme://router/demo"}"#), on: Self.map)
        #expect(try await next.failure { $0.origin == .map }.code == .unknownKind)
        next.receive(document(3), on: Self.map)
        #expect(try await route("scheme://router/demo", in: next, id: "c") == "scheme://router/demo")
        try await next.close()
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
