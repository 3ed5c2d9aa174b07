import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// A disk that gives back other bytes than it was given.
@Suite struct `A byte that the disk changed` {
    private static let command = "waypost/v1/k1/cmd/me"
    private static let fresh = NSTemporaryDirectory() + "waypost-damaged-"

    fileprivate func router(_ ran: TestSupport.EventLog<String> = TestSupport.EventLog()) throws -> Router {
        let router = Router()
        for name in ["demo", "demo1", "demo2"] {
            try router.register("scheme://router/\(name)", idempotent: true) { request in
                ran.append(request.context.ref ?? "")
                return .opened("white")
            }
        }
        return router
    }

    fileprivate func open(_ id: String) -> String {
        "{\"id\":\"\(id)\",\"type\":\"open\",\"url\":\"scheme://router/demo\"}"
    }

    private func map(_ revision: Int, _ target: String) -> String {
        "{\"id\":\"m\",\"type\":\"map\",\"rev\":\(revision),\"entries\":[{\"routerType\":1,"
            + "\"orginPath\":\"scheme://router/demo\",\"targetPath\":\"scheme://router/\(target)\"}]}"
    }

    /// A state directory with a map, commands that have ended, replies and reports that wait for the broker.
    fileprivate func usedDirectory(_ commands: Int = 4) async throws -> String {
        let harness = try await AgentHarness(router: router())
        harness.receive(map(7, "demo1"), on: "waypost/v1/k1/map")
        _ = try await harness.command(open("acknowledged"))
        try await harness.untilAllIsAcknowledged()
        harness.link.disconnect()
        for number in 0..<commands {
            harness.receive(open("waiting\(number)"), on: Self.command)
            harness.receive("no JSON", on: "waypost/v1/k1/cmd/other\(number)")
        }
        try await harness.until("all on disk") {
            $0.reportsOnDisk == commands && $0.agent.ledger.shares.total.waiting == 0
        }
        let directory = harness.agent.configuration.stateDirectory
        try await harness.close()
        return directory
    }

    /// Changes a value as the disk would: nothing else in the file changes.
    fileprivate func damage(_ directory: String, _ sql: String) throws {
        let db = try Database(path: "\(directory)/\(Store.fileName)")
        try db.execute(sql)
        #expect(db.changes > 0)
    }

    @Test func `of a stored reply is noticed: the command ends as interrupted, and that is reported`()
        async throws
    {
        let directory = try await usedDirectory()
        try damage(
            directory,
            "UPDATE inbox SET reply = CAST(replace(reply, 'white', 'whiTe') AS BLOB) WHERE id = 'waiting1'")
        let harness = try await AgentHarness(directory: directory, router: router())
        #expect(try await harness.reply(to: "waiting1").code == .interrupted)
        #expect(try await harness.reply(to: "waiting2").result["value"] == "white")
        _ = try await harness.failure { $0.code == .disk && $0.ref == "waiting1" }
        // It is what the id is answered with from now on.
        #expect(try await harness.command(open("waiting1")).code == .interrupted)
        #expect(
            !harness.published.events.contains {
                String(decoding: $0.payload, as: UTF8.self).contains("whiTe")
            })
        try await harness.close()
    }

    @Test(arguments: [
        "reply = CAST(replace(reply, 'white', 'whiTe') AS BLOB)", "digest = zeroblob(32)",
        "keep_until = keep_until + 1", "state = 'acknowledgee'", "reply = NULL", "received = 'text'",
        "trace = 7",
    ])
    func `of a command that had ended runs it not again`(change: String) async throws {
        let directory = try await usedDirectory()
        try damage(directory, "UPDATE inbox SET \(change) WHERE id = 'acknowledged'")
        let harness = try await AgentHarness(directory: directory, router: router())
        let reply = try await harness.command(open("acknowledged"))
        #expect(reply.code == .interrupted)
        #expect(reply.detail?.contains("damaged on the disk") == true)
        _ = try await harness.failure { $0.code == .interrupted && $0.ref == "acknowledged" }
        #expect(try await harness.command(open("next")).result["value"] == "white")
        try await harness.close()
    }

    @Test(arguments: ["id = 'waitingX'", "topic = 'waypost/v1/k1/cmd/you'", "state = 'finisheD'"])
    func `of a command's id, topic or state keeps it from being answered to anyone`(change: String)
        async throws
    {
        let directory = try await usedDirectory()
        try damage(directory, "UPDATE inbox SET \(change) WHERE id = 'waiting1'")
        let harness = try await AgentHarness(directory: directory, router: router())
        _ = try await harness.reply(to: "waiting3")
        _ = try await harness.failure { $0.code == .disk && $0.detail.contains("its id too") }
        #expect(harness.replies(to: "waiting1").isEmpty)
        #expect(harness.replies(to: "waitingX").isEmpty)
        #expect(!harness.published.events.contains { $0.topic.hasSuffix("/reply/you") })
        // It stays so, and is not reported at each start.
        try await harness.close()
        let again = try await AgentHarness(directory: directory, router: router())
        #expect(try await again.command(open("next")).code == .ok)
        #expect(!again.published.events.contains { $0.topic.hasSuffix("/fail") })
        try await again.close()
    }

    @Test func `of a command that has not run yet keeps it from running`() async throws {
        let directory = Self.fresh + UUID().uuidString
        let store = try Store(directory: directory)
        try store.commit { transaction in
            for id in ["a", "b"] {
                let payload = Array(open(id).utf8)
                _ = try transaction.receive(
                    NewCommand(
                        topic: Self.command, id: id, digest: SHA256.digest(of: payload), payload: payload,
                        received: TurnedClock.start, expires: TurnedClock.start + 60_000,
                        keepUntil: TurnedClock.start + 900_000))
            }
        }
        store.close()
        try damage(
            directory,
            "UPDATE inbox SET payload = CAST(replace(payload, 'demo', 'dem0') AS BLOB) WHERE id = 'a'")
        let harness = try await AgentHarness(directory: directory, router: router())
        let reply = try await harness.reply(to: "a")
        #expect(reply.code == .interrupted)
        #expect(reply.detail?.contains("damaged") == true)
        _ = try await harness.failure { $0.code == .interrupted && $0.ref == "a" }
        #expect(try await harness.reply(to: "b").status == .ok)
        try await harness.close()
    }

    @Test func `of a failure report sets it aside, the others arrive`() async throws {
        let directory = try await usedDirectory()
        try damage(directory, "UPDATE outbox SET payload = x'7b7d' WHERE seq = 2")
        let harness = try await AgentHarness(directory: directory, router: router())
        _ = try await harness.failure { $0.code == .disk && $0.detail.contains("failure report 2") }
        try await harness.until("an empty outbox") { $0.reportsOnDisk == 0 }
        let reports = harness.published.events.filter { $0.topic.hasSuffix("/fail") }
        #expect(reports.count == 4)
        #expect(!reports.contains { $0.payload == Array("{}".utf8) })
        let kept = try harness.agent.store.commit {
            try $0.database.rows("SELECT payload FROM damaged") { $0.text("payload") }
        }
        #expect(kept == ["{}"])
        #expect(harness.agent.journal.counters.droppedReports == 0)
        try await harness.close()
    }

    @Test(arguments: [
        "entries = CAST(replace(entries, 'demo1', 'demo2') AS BLOB)", "rev = 8", "expires = 1",
        "rev_floor = 9000000000000000", "digest = zeroblob(32)",
    ])
    func `of a map leaves it out until it is sent again, and health is red`(change: String) async throws {
        let directory = try await usedDirectory()
        try damage(directory, "UPDATE maps SET \(change)")
        let harness = try await AgentHarness(directory: directory, router: router())
        _ = try await harness.failure { $0.code == .disk && $0.detail.contains("stored map of agent") }
        #expect(harness.check("map") == false)
        #expect(harness.agent.router.resolve("scheme://router/demo").url == "scheme://router/demo")
        harness.receive(map(7, "demo1"), on: "waypost/v1/k1/map")
        #expect(harness.check("map") == true)
        #expect(harness.agent.router.resolve("scheme://router/demo").url == "scheme://router/demo1")
        try await harness.close()
    }

    @Test func `of a map does not let an older one in`() async throws {
        let directory = try await usedDirectory()
        try damage(directory, "UPDATE maps SET entries = x'5b5d'")
        let harness = try await AgentHarness(directory: directory, router: router())
        harness.receive(map(6, "demo2"), on: "waypost/v1/k1/map")
        _ = try await harness.failure { $0.code == .rollback }
        harness.receive(map(7, "demo2"), on: "waypost/v1/k1/map")
        _ = try await harness.failure { $0.code == .equivocation }
        harness.receive(map(8, "demo2"), on: "waypost/v1/k1/map")
        #expect(harness.agent.router.resolve("scheme://router/demo").url == "scheme://router/demo2")
        try await harness.close()
    }

    @Test(arguments: [true, false])
    func `of an index, or of an id that the index has, does not let a known id run again`(isIndex: Bool)
        async throws
    {
        let directory = try await usedDirectory()
        let path = "\(directory)/\(Store.fileName)"
        var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
        // In the table the digest of the payload follows the key, in the index it does not.
        let key = Array("\(Self.command)acknowledged".utf8)
        let digest = SHA256.digest(of: Array(open("acknowledged").utf8))
        var places = 0
        for place in bytes.indices.dropLast(key.count + digest.count)
        where bytes[place] == key[0] && bytes[place...].starts(with: key)
            && bytes[(place + key.count)...].starts(with: digest) != isIndex
        {
            bytes[place + key.count - 1] = UInt8(ascii: "e")
            places += 1
        }
        #expect(places > 0)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let ran = TestSupport.EventLog<String>()
        let harness = try await AgentHarness(directory: directory, router: router(ran))
        #expect(try await harness.command(open("acknowledged")).result["value"] == "white")
        #expect(ran.events.isEmpty)
        _ = try await harness.failure { $0.code == .disk && $0.detail.contains("index") }
        try await harness.close()
    }

    /// Everything that an agent says of ids that it knows is what it said before, or that it does not know.
    @Test func `anywhere in the file crashes nothing, and nothing wrong is answered`() async throws {
        let original = try await usedDirectory(20)
        let file = "/\(Store.fileName)"
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: original + file)))
        var random = SeededGenerator(seed: UInt64.random(in: 0...UInt64.max))
        let ids = ["acknowledged"] + (0..<20).map { "waiting\($0)" }
        var refused = 0
        var changed = 0
        for _ in 0..<30 {
            let directory = Self.fresh + UUID().uuidString
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            var copy = bytes
            let place = Int.random(in: 100..<copy.count, using: &random)
            copy[place] ^= UInt8.random(in: 1...255, using: &random)
            try Data(copy).write(to: URL(fileURLWithPath: directory + file))
            let ran = TestSupport.EventLog<String>()
            do {
                let harness = try await AgentHarness(directory: directory, router: router(ran))
                for id in ["acknowledged", "waiting7"] {
                    harness.receive(open(id), on: Self.command)
                    // It may be on its way already, as one that waited.
                    let reply = try await harness.reply(to: id)
                    if reply.code == .interrupted { changed += 1 }
                }
                for reply in ids.flatMap(harness.replies) {
                    #expect(
                        reply.code == .interrupted || reply.result["value"] == "white",
                        "byte \(place): \(reply)")
                }
                #expect(Set(ran.events).isDisjoint(with: ids), "byte \(place): \(ran.events)")
                let target = harness.agent.router.resolve("scheme://router/demo").url
                #expect(
                    target == "scheme://router/demo1" || harness.check("map") == false,
                    "byte \(place): \(target)")
                try await harness.close()
            } catch let error as StoreError {
                #expect(error.reason == .corrupt, "byte \(place): \(error)")
                refused += 1
            } catch {
                Issue.record("byte \(place): \(error)")
                try FileManager.default.copyItem(atPath: directory, toPath: directory + "-\(place)")
            }
        }
        print("\(refused) files refused, \(changed) commands interrupted")
    }
}

extension `A byte that the disk changed` {
    // A lower epoch made readers take the will of this connection for a late one.
    @Test(arguments: [
        "value = 0 WHERE key = 'epoch'", "value = 'x' WHERE key = 'epoch'",
        "key = 'fpoch' WHERE key = 'epoch'",
        "value = 9223372036854775807 WHERE key = 'epoch'",
    ])
    func `of the epoch is noticed, and the next one is above all before`(change: String) async throws {
        let directory = try await usedDirectory()
        func epoch(_ harness: AgentHarness) async throws -> Int64 {
            let state = try await harness.document("state") { $0["why"] == "birth" }
            return try #require(state["epoch"]?.intValue)
        }
        let first = try await AgentHarness(directory: directory, router: router())
        let before = try await epoch(first)
        try await first.close()
        try damage(directory, "UPDATE meta SET \(change)")
        let harness = try await AgentHarness(directory: directory, router: router())
        let after = try await epoch(harness)
        #expect(after > before && after < 1 << 53)
        _ = try await harness.failure { $0.code == .disk && $0.detail.contains("epoch") }
        try await harness.close()
        // It is repaired, and not reported at each start.
        let again = try await AgentHarness(directory: directory, router: router())
        #expect(try await epoch(again) > after)
        #expect(try await again.command(open("next")).code == .ok)
        #expect(!again.published.events.contains { $0.topic.hasSuffix("/fail") })
        try await again.close()
    }

    @Test func `of a level asked for, of the session's broker or of a clean stop is not used`() async throws {
        let directory = try await usedDirectory()
        let first = try await AgentHarness(directory: directory, router: router())
        _ = try await first.command(#"{"id":"l","type":"log","level":"e","for":3600000}"#)
        try await first.close()
        for (key, value) in [
            ("log_override", "'{}'"), ("session", "'mqtt://other:1883'"), ("clean_stop", "2"),
        ] {
            try damage(directory, "UPDATE meta SET value = \(value) WHERE key = '\(key)'")
        }
        let harness = try await AgentHarness(directory: directory, router: router())
        for key in ["log_override", "session", "clean_stop"] {
            _ = try await harness.failure { $0.code == .disk && $0.detail.contains(key) }
        }
        #expect(try await harness.command(open("next")).code == .ok)
        try await harness.close()
    }
}
