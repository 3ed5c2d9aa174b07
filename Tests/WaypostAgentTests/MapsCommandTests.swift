import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite(.timeLimit(.minutes(60))) struct `What is in force` {
    private static let map = "waypost/v1/k1/map"

    private func router() throws -> Router {
        let router = Router()
        for name in ["a", "b", "c"] { try router.register("app://\(name)", name: name) { _ in .opened() } }
        return router
    }

    private func redirect(_ origin: String, _ target: String, _ more: String = "") -> String {
        #"{"routerType":1,"orginPath":"app://\#(origin)","targetPath":"app://\#(target)"\#(more)}"#
    }

    private func layers(
        _ fields: String = "", of harness: AgentHarness, id: String
    ) async throws -> (layers: [MapLayer], next: Int64?) {
        let reply = try await harness.command(#"{"id":"\#(id)","type":"maps"\#(fields)}"#)
        #expect(reply.code == .ok, "\(reply)")
        return (
            try (reply.result["layers"]?.arrayValue ?? []).map { try MapLayer($0) },
            reply.result["next"]?.intValue
        )
    }

    @Test func `layers are listed in the order in which they act, each entry with what becomes of it`()
        async throws
    {
        let router = try router()
        try router.patch([RelocationEntry(.replace(origin: "app://p", target: "app://a"))])
        let harness = try await AgentHarness(router: router) { $0.client.labels = ["region": "eu"] }
        let all = [
            redirect("x", "a"), redirect("y", "gone"),
            redirect("z", "a", #","when":{"labels":{"region":"us"}}"#),
        ].joined(separator: ",")
        harness.receive(
            #"{"id":"m","type":"map","rev":3,"by":"eva","exp":\#(TurnedClock.start + 9_000),"entries":[\#(all)]}"#,
            on: "waypost/v1/@all/map")
        harness.receive("[\(redirect("x", "b"))]", on: Self.map)
        harness.receive(#"{"rev":1,"entries":[{"routerType":9}]}"#, on: Self.map)
        harness.receive(redirect("x", "c"), on: Self.map + "/patch")
        _ = try await harness.applied { $0["refused"] != .null }
        let (layers, next) = try await layers(of: harness, id: "l1")
        #expect(next == nil && layers.map(\.name) == ["program", "@all", "agent", "patch"])
        #expect(
            layers[0].digest == nil && layers[0].since == nil && layers[0].entries.map(\.state) == [.active])
        #expect(layers[1].revision == 3 && layers[1].author == "eva" && layers[1].since == TurnedClock.start)
        #expect(layers[1].expires == TurnedClock.start + 9_000)
        #expect(layers[1].entries.map(\.number) == [1, 2, 3])
        #expect(layers[1].entries.map(\.state) == [.inactive, .inactive, .inactive])
        #expect(layers[1].entries[0].reason == "entry 1 of agent takes its place")
        #expect(layers[1].entries[1].reason?.contains("no route matches app://gone") == true)
        #expect(layers[1].entries[2].reason?.contains("region=us") == true)
        #expect(layers[2].refused?.code == .badField)
        #expect(layers[3].entries.map(\.state) == [.active])
        #expect(
            layers[3].entries[0].content["targetPath"] == "app://c"
                && layers[3].entries[0].content["n"] == nil)
        let one = try await self.layers(#","layer":"patch""#, of: harness, id: "l2")
        #expect(one.layers.map(\.name) == ["patch"])
        try await harness.close()
    }

    @Test func `a layer that is left out says why, and so does one of which nothing was taken`() async throws
    {
        let harness = try await AgentHarness(router: router()) { $0.mapExpiry = .revert }
        harness.receive(
            #"{"rev":1,"exp":\#(TurnedClock.start + 1_000),"entries":[\#(redirect("x", "a"))]}"#,
            on: "waypost/v1/@all/map")
        harness.receive(#"{"rev":7,"entries":[{"routerType":9}]}"#, on: Self.map)
        harness.clock.advance(2_000)
        harness.checkExpiry()
        _ = try await harness.applied { $0["layers"] == [] && $0["refused"] != .null }
        let (layers, _) = try await layers(of: harness, id: "o1")
        #expect(layers.map(\.name) == ["@all", "agent"])
        #expect(layers[0].state == .expired && layers[0].entries.map(\.state) == [.expired])
        #expect(layers[1].state == .inactive && layers[1].reason == "no document is in force")
        #expect(layers[1].refused?.code == .badField && layers[1].digest == nil)
        try await harness.close()
    }

    @Test func `a large map comes in pages of at most 32 KiB, each entry once`() async throws {
        let harness = try await AgentHarness(router: router())
        let entries = (0..<1_000).map { redirect("page/\($0)/\(String(repeating: "x", count: 60))", "a") }
        harness.receive(#"{"rev":1,"entries":[\#(entries.joined(separator: ","))]}"#, on: Self.map)
        harness.receive(redirect("y", "b"), on: Self.map + "/patch")
        var numbers: [Int] = []
        var names: [String] = []
        var next: Int64?
        var pages = 0
        repeat {
            let before = next.map { #","before":\#($0)"# } ?? ""
            let count = harness.published.events.count
            let page = try await layers(before, of: harness, id: "p\(pages)")
            let replies = harness.published.events.dropFirst(count).filter { $0.topic.contains("/reply/") }
            #expect(replies.allSatisfy { $0.payload.count <= 33_500 })
            for layer in page.layers {
                if names.last != layer.name { names.append(layer.name) }
                if layer.name == "agent" {
                    #expect(layer.count == 1_000)
                    numbers += layer.entries.map(\.number)
                }
            }
            pages += 1
            next = page.next
        } while next != nil && pages < 100
        #expect(numbers == Array(1...1_000) && names == ["agent", "patch"])
        #expect(pages > 3)
        try await harness.close()
    }

    @Test func `secrets of entries are masked, and that is said`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(
            #"{"rev":1,"entries":[\#(redirect("x", "a", #","params":{"token":"t0p"}"#))]}"#, on: Self.map)
        let reply = try await harness.command(#"{"id":"m1","type":"maps","rev":1}"#)
        #expect(!"\(reply)".contains("t0p") && reply.result["masked"] == true)
        harness.receive(#"{"rev":2,"entries":[\#(redirect("x", "a"))]}"#, on: Self.map)
        let plain = try await harness.command(#"{"id":"m2","type":"maps","rev":2}"#)
        #expect(plain.result["masked"] == nil)
        try await harness.close()
    }

    @Test(arguments: [
        #""rev":0"#, #""digest":"x""#, #""history":1"#, #""before":-1"#, #""layer":5"#,
    ]) func `what it can't read is refused`(_ field: String) async throws {
        let harness = try await AgentHarness(router: router())
        let reply = try await harness.command(#"{"id":"b1","type":"maps",\#(field)}"#)
        #expect(reply.code == .badField)
        let name = try #require(field.split(separator: "\"").first)
        #expect(reply.detail?.contains(name) == true)
        try await harness.close()
    }
}
