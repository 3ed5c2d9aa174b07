import Dispatch
import Foundation
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite(.timeLimit(.minutes(60))) struct `Asking where URLs lead` {
    private func router() throws -> Router {
        let router = Router()
        try router.register("app://a", name: "A") { _ in .opened() }
        try router.register("app://own", redirect: { $0.context.caller == "eva" ? "app://a" : nil }) { _ in
            .opened()
        }
        try router.intercept("login", scope: .patterns(["app://a"])) { _ in .stop(reason: "never asked") }
        return router
    }

    private func resolve(_ fields: String, in harness: AgentHarness, id: String) async throws -> [ResolvedURL]
    {
        let reply = try await harness.command(#"{"id":"\#(id)","type":"resolve",\#(fields)}"#)
        #expect(reply.code == .ok && reply.result["next"] == .null, "\(reply)")
        return try (reply.result["resolved"]?.arrayValue ?? []).map { try ResolvedURL($0) }
    }

    @Test func `each URL has its hops with layer and entry, its interceptors, or why it is not opened`()
        async throws
    {
        let harness = try await AgentHarness(router: router())
        harness.receive(
            #"{"rev":1,"entries":[{"routerType":3,"path":"app://b"},{"routerType":1,"orginPath":"app://x","targetPath":"app://a"}]}"#,
            on: "waypost/v1/k1/map")
        let found = try await resolve(
            #""urls":["app://x?id=2","app://b","app://aa",""]"#, in: harness, id: "r1")
        #expect(found.map(\.url) == ["app://x?id=2", "app://b", "app://aa", ""])
        #expect(found[0].final == "app://a?id=2" && found[0].route == "app://a" && found[0].failure == nil)
        #expect(
            found[0].hops == [
                ResolvedURL.Hop(
                    from: "app://x?id=2", to: "app://a?id=2", layer: "agent", entry: 2, route: nil)
            ])
        #expect(found[0].interceptors == ["login"])
        // No route app://b was ever there: the entry is inactive and deleted nothing.
        #expect(found[1].failure?.code == .noRoute && found[1].failure?.detail.contains("deleted") == false)
        #expect(found[2].failure?.nearest.first == "app://a")
        #expect(found[3].failure?.code == .badField)
        try await harness.close()
    }

    @Test func `parameters and the caller count as in an open`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(
            #"[{"routerType":1,"orginPath":"app://x","targetPath":"app://a","when":{"share":{"percent":50,"salt":"s","by":"user"}}}]"#,
            on: "waypost/v1/k1/map")
        var routes: Set<String?> = []
        for user in 0..<20 {
            let found = try await resolve(
                #""urls":["app://x"],"as":{"params":{"user":\#(user)}}"#, in: harness, id: "u\(user)")
            routes.insert(found.first?.route)
            #expect(found.first?.rules.first?.hasPrefix("entry 1 of agent: share 50") == true)
        }
        #expect(routes == ["app://a", nil])
        let mine = try await resolve(#""urls":["app://own"]"#, in: harness, id: "c1")
        let hers = try await resolve(#""urls":["app://own"],"as":{"caller":"eva"}"#, in: harness, id: "c2")
        #expect(mine.first?.route == "app://own" && hers.first?.route == "app://a")
        #expect(hers.first?.hops.first?.route == "app://own" && hers.first?.hops.first?.layer == nil)
        try await harness.close()
    }

    @Test func `it waits behind no command, and what it runs holds up none`() async throws {
        let router = try router()
        let gate = DispatchSemaphore(value: 0)
        try router.register(
            "app://slow",
            redirect: { _ in
                gate.wait()
                return nil
            }
        ) { _ in .opened() }
        let (started, begin) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        try router.register("app://busy") { _ in
            begin.yield()
            for await _ in released { break }
            return .opened()
        }
        let harness = try await AgentHarness(router: router)
        harness.receive(#"{"id":"b1","type":"open","url":"app://busy"}"#, on: "waypost/v1/k1/cmd/me")
        for await _ in started { break }
        harness.receive(#"{"id":"s1","type":"resolve","urls":["app://slow"]}"#, on: "waypost/v1/k1/cmd/me")
        // Neither waits for the other, and the agent answers meanwhile.
        _ = try await harness.command(#"{"id":"p1","type":"ping"}"#)
        let found = try await resolve(#""urls":["app://a"]"#, in: harness, id: "s2")
        #expect(found.first?.route == "app://a")
        #expect(harness.replies(to: "b1").isEmpty && harness.replies(to: "s1").isEmpty)
        gate.signal()
        release.yield()
        _ = try await harness.reply(to: "s1")
        _ = try await harness.reply(to: "b1")
        try await harness.close()
    }

    @Test func `an answer has at most 32 KiB, and says with which URL it goes on`() async throws {
        let harness = try await AgentHarness(router: router())
        let urls = (0..<100).map { "app://a?\($0)=" + String(repeating: "x", count: 600) }
        func ask(_ urls: some Collection<String>, id: String) async throws -> JSONValue {
            let list = JSONValue.array(urls.map(JSONValue.string)).text
            return try await harness.command(#"{"id":"\#(id)","type":"resolve","urls":\#(list)}"#).result
        }
        let first = try await ask(urls, id: "n1")
        let next = try #require(first["next"]?.intValue.map { Int($0) })
        #expect(first["resolved"]?.arrayValue?.count == next && first.serialized().count <= 33_000)
        let second = try await ask(urls.dropFirst(next), id: "n2")
        #expect(second["resolved"]?[0]?["url"] == .string(urls[next]))
        try await harness.close()
    }

    @Test func `an answer says under which maps it was given`() async throws {
        let harness = try await AgentHarness(router: router())
        func inForce(_ id: String) async throws -> [JSONValue]? {
            try await harness.command(#"{"id":"\#(id)","type":"resolve","urls":["app://a"]}"#).result[
                "inForce"]?
                .arrayValue
        }
        #expect(try await inForce("m1") == [])
        harness.receive(#"{"id":"m","type":"map","rev":7,"entries":[]}"#, on: "waypost/v1/k1/map")
        let layers = try #require(try await inForce("m2"))
        #expect(layers.map { $0["layer"] } == ["agent"] && layers.first?["rev"] == 7)
        #expect(layers.first?["digest"]?.stringValue?.hasPrefix("sha256:") == true)
        try await harness.close()
    }

    @Test(arguments: [
        #""urls":[]"#, #""urls":"app://a""#, #""urls":["app://a",5]"#,
        #""urls":["a"],"as":{"caller":"no one"}"#,
        #""urls":["a"],"as":{"params":3}"#, #""urls":["a"],"as":3"#,
    ]) func `what it can't read is refused`(_ fields: String) async throws {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(#"{"id":"b1","type":"resolve",\#(fields)}"#)
        #expect(reply.code == .badField)
        let name = fields.contains("\"as\"") ? "as" : "urls"
        #expect(reply.detail?.contains(name) == true)
        try await harness.close()
    }

    @Test func `an open of a deleted path says by which entry`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(
            #"[{"routerType":3,"path":"app://a"}]"#, on: "waypost/v1/k1/map/patch")
        let reply = try await harness.command(#"{"id":"o1","type":"open","url":"app://a"}"#)
        #expect(reply.code == .noRoute && reply.nearest.isEmpty)
        #expect(reply.detail == "no route matches app://a: deleted by entry 1 of patch")
        try await harness.close()
    }
}
