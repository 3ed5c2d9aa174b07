import Foundation
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostFleet
@testable import WaypostMessages

@Suite(.timeLimit(.minutes(60))) struct `Maps of the past` {
    private let directory = NSTemporaryDirectory() + "waypost-history-\(UUID().uuidString)"
    private static let map = "waypost/v1/k1/map"

    private func router() throws -> Router {
        let router = Router()
        for name in ["a", "b", "c"] { try router.register("app://\(name)", name: name) { _ in .opened() } }
        return router
    }

    private func document(_ revision: Int, _ targets: String..., by author: String = "ops") -> String {
        let entries = targets.enumerated().map {
            #"{"routerType":1,"orginPath":"app://x\#($0)","targetPath":"app://\#($1)"}"#
        }
        return
            #"{"id":"m-\#(revision)","type":"map","rev":\#(revision),"by":"\#(author)","entries":[\#(entries.joined(separator: ","))]}"#
    }

    private func maps(_ fields: String, of harness: AgentHarness, id: String) async throws -> Reply {
        try await harness.command(#"{"id":"\#(id)","type":"maps"\#(fields)}"#)
    }

    @Test func `the last eight documents of a layer are kept, each with what it changed`() async throws {
        let harness = try await AgentHarness(directory: directory, router: router())
        harness.receive(document(1, "a"), on: Self.map)
        harness.clock.advance(1_000)
        harness.receive(document(2, "b", "c", by: "eva"), on: Self.map)
        for revision in 3...10 {
            harness.clock.advance(1_000)
            harness.receive(document(revision, "a"), on: Self.map)
        }
        let start = TurnedClock.start
        let reply = try await maps(#","history":true"#, of: harness, id: "h1")
        let list = try #require(reply.result["history"]?.arrayValue).map { try MapRevision($0) }
        #expect(list.map(\.revision) == [10, 9, 8, 7, 6, 5, 4, 3])
        #expect(list.first?.until == nil && list.first?.from == start + 9_000)
        #expect(list.last?.until == start + 3_000 && list.last?.from == start + 2_000)
        #expect(list.last?.changes == MapRevision.Changes(added: 0, removed: 1, changed: 1))
        #expect(list.last?.author == "ops" && list.allSatisfy { $0.layer == "agent" })
        #expect(list.last?.bytes == Int64(document(3, "a").utf8.count))
        #expect(list.last?.digest == SHA256.label(SHA256.digest(of: Array(document(3, "a").utf8))))
        try await harness.close()
    }

    @Test func `a document of the past is read whole by its revision or its digest, also after a restart`()
        async throws
    {
        do {
            let harness = try await AgentHarness(directory: directory, router: router())
            harness.receive(document(1, "a", "b"), on: Self.map)
            harness.receive(document(2, "c"), on: Self.map)
            try await harness.close()
        }
        let harness = try await AgentHarness(directory: directory, router: router())
        let reply = try await maps(#","rev":1"#, of: harness, id: "r1")
        #expect(reply.result["count"] == 2 && reply.result["next"] == .null)
        #expect(reply.result["entries"]?[1]?["targetPath"] == "app://b")
        let digest = try #require(reply.result["document"]?["digest"]?.stringValue)
        let again = try await maps(#","digest":"\#(digest.prefix(20))""#, of: harness, id: "r2")
        #expect(again.result == reply.result)
        let newest = try await maps(#","rev":2"#, of: harness, id: "r3")
        #expect(newest.result["document"]?["until"] == .null && newest.result["count"] == 1)
        let none = try await maps(#","rev":7"#, of: harness, id: "r4")
        #expect(none.code == .badField)
        #expect(none.detail == "no such document of layer agent is kept; kept are rev 2, rev 1")
        try await harness.close()
    }

    @Test func `a patch adds a document of its own, and a new map of the agent ends it`() async throws {
        let harness = try await AgentHarness(directory: directory, router: router())
        harness.receive(document(1, "a"), on: Self.map)
        harness.receive(
            #"{"id":"p1","type":"patch","entries":[{"routerType":3,"path":"app://b"}]}"#,
            on: Self.map + "/patch")
        harness.receive(
            #"[{"routerType":1,"orginPath":"app://x","targetPath":"app://c"}]"#, on: Self.map + "/patch")
        harness.clock.advance(5_000)
        harness.receive(document(2, "b"), on: Self.map)
        let reply = try await maps(#","history":true,"layer":"patch""#, of: harness, id: "p2")
        let list = try #require(reply.result["history"]?.arrayValue).map { try MapRevision($0) }
        #expect(list.map(\.author) == [nil, "p1"])
        // No two have one time, though they came at one: who undoes one sees which map it was of.
        #expect(list.map(\.from) == [TurnedClock.start + 2, TurnedClock.start + 1])
        #expect(list.map(\.until) == [TurnedClock.start + 5_000, TurnedClock.start + 2])
        // The layer of patches as it was with the document.
        let whole = try await maps(
            #","digest":"\#(list[0].digest)","layer":"patch""#, of: harness, id: "p3")
        #expect(whole.result["count"] == 2)
        try await harness.close()
    }

    @Test func `the same document again, a refused one and an emptied layer add nothing`() async throws {
        let harness = try await AgentHarness(directory: directory, router: router())
        harness.receive(document(1, "a"), on: Self.map)
        harness.receive(document(1, "a"), on: Self.map)
        harness.receive(document(1, "b"), on: Self.map)
        _ = try await harness.applied { $0["refused"] != .null }
        let reply = try await maps(#","history":true"#, of: harness, id: "s1")
        #expect(reply.result["history"]?.arrayValue?.count == 1)
        try await harness.close()
    }

    @Test func `what is kept has a bound of bytes, and the oldest go first`() throws {
        let store = try Store(directory: directory)
        func record(_ revision: Int64, _ bytes: Int) -> MapRecord {
            MapRecord(
                layer: "k1", revision: revision, revisionFloor: revision, digest: [1], applied: revision,
                expires: nil, entries: [UInt8](repeating: 0x20, count: bytes))
        }
        try store.commit { transaction in
            for revision in Int64(1)...5 {
                try transaction.keepPast(record(revision, 100), until: revision + 1)
            }
            try transaction.forgetPastMaps(of: "k1", beyond: 7, bytes: 350)
        }
        #expect(try store.commit { try $0.pastMaps().map(\.revision) } == [5, 4, 3])
        try store.commit { try $0.forgetPastMaps(of: "k1", beyond: 2, bytes: 1_000) }
        #expect(try store.commit { try $0.pastMaps().map(\.revision) } == [5, 4])
        try store.commit { try $0.forgetPastMaps(of: "k2", beyond: 0, bytes: 1_000) }
        #expect(try store.commit { try $0.pastMaps().count } == 2)
    }

    @Test func `a document that the disk has changed is not given`() async throws {
        do {
            let harness = try await AgentHarness(directory: directory, router: router())
            for revision in 1...3 { harness.receive(document(revision, "a"), on: Self.map) }
            try await harness.close()
        }
        do {
            let store = try Store(directory: directory)
            try store.commit {
                try $0.database.execute("UPDATE map_history SET entries = x'5b5d' WHERE rev = 1")
                try $0.database.execute("UPDATE map_history SET rev = 9 WHERE rev = 2")
            }
            store.close()
        }
        let harness = try await AgentHarness(directory: directory, router: router())
        let list = try await maps(#","history":true"#, of: harness, id: "d1")
        #expect(list.result["history"]?.arrayValue?.map { $0["rev"] } == [3, 1])
        let damaged = try await maps(#","rev":1"#, of: harness, id: "d2")
        #expect(damaged.code == .disk && damaged.detail?.contains("damaged") == true)
        try await harness.close()
    }
}
