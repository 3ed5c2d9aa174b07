import Foundation
import Glibc
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `The limit of the store` {
    private static let map = #"{"id":"m","type":"map","rev":1,"entries":[]}"#

    /// Fills the store with the results of one command after another; returns the first that was refused.
    private func fill(_ harness: AgentHarness) async throws -> Reply {
        for number in 0..<1_000 {
            let reply = try await harness.command(
                "{\"id\":\"f\(number)\",\"type\":\"open\",\"url\":\"scheme://large\"}", from: "s\(number % 8)"
            )
            guard reply.status == .ok else { return reply }
        }
        throw Timeout(what: "a full store")
    }

    private func router(_ goAhead: AsyncStream<Void>) throws -> Router {
        let router = Router()
        try router.register("scheme://large", idempotent: true) { _ in
            .opened(.string(String(repeating: "x", count: 100_000)))
        }
        try router.register("scheme://slow", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened("done")
        }
        return router
    }

    // Without one, 24 GiB fitted within the other limits.
    @Test
    func `refuses new commands and maps with DISK, ends what was accepted, and goes on when there is space`()
        async throws
    {
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let harness = try await AgentHarness(router: router(goAhead)) {
            $0.limits.storeBytes = 1_048_576
            $0.limits.senderShare = 100
        }
        let slow = #"{"id":"slow","type":"open","url":"scheme://slow","lane":"l"}"#
        harness.receive(slow, on: "waypost/v1/k1/cmd/me")
        #expect(harness.check("store") == true)
        let refused = try await fill(harness)
        #expect(refused.code == .disk)
        #expect(refused.status == .rejected)
        #expect(harness.check("store") == false)
        _ = try await harness.failure { $0.code == .disk && $0.isAboutSender }

        // A known id is answered, a map is refused and reported, and what runs has its result stored.
        #expect(
            try await harness.command(
                #"{"id":"f0","type":"open","url":"scheme://large"}"#, from: "s0"
            ).isDuplicate)
        #expect(harness.receive(Self.map, on: "waypost/v1/k1/map") == .acknowledge)
        _ = try await harness.failure { $0.code == .disk && $0.origin == .map }
        signal.finish()
        #expect(try await harness.reply(to: "slow").status == .ok)

        try await harness.untilAllIsAcknowledged()
        for _ in 0..<30 {
            harness.clock.advance(60_000)
            _ = harness.agent.forgetEndedCommands(after: 0)
        }
        #expect(harness.check("store") == true)
        #expect(try await harness.command(#"{"id":"n","type":"ping"}"#).code == .ok)
        harness.receive(Self.map, on: "waypost/v1/k1/map")
        _ = try await harness.applied { $0["layers"] != [] }
        try await harness.close()
    }

    @Test func `holds one sender to its share, by the bytes of its results too`() async throws {
        let harness = try await AgentHarness(router: router(AsyncStream { nil })) {
            $0.limits.storeBytes = 2_097_152
        }
        var last = Code.ok
        for number in 0..<10 where last == .ok {
            last = try await harness.command(
                "{\"id\":\"f\(number)\",\"type\":\"open\",\"url\":\"scheme://large\"}"
            ).code
            try await harness.until("the result on disk") { $0.agent.ledger.shares.total.waiting == 0 }
        }
        #expect(last == .busy)
        #expect(try await harness.command(#"{"id":"n","type":"ping"}"#, from: "other").code == .ok)
        try await harness.close()
    }

    @Test func `lets a large result become a 413 when the space for results runs short`() async throws {
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        let router = try router(goAhead)
        let blob = String(repeating: "x", count: 900_000)
        try router.register("scheme://huge/:n", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened(.string(blob))
        }
        let harness = try await AgentHarness(router: router) {
            $0.limits.storeBytes = 1_048_576
            $0.limits.senderShare = 100
        }
        // All are accepted before the first has a result.
        for number in 0..<16 {
            harness.receive(
                "{\"id\":\"h\(number)\",\"type\":\"open\",\"url\":\"scheme://huge/\(number)\",\"lane\":\"l\(number)\"}",
                on: "waypost/v1/k1/cmd/me")
        }
        // One after another: results that are stored together are within the limit together.
        for number in 0..<16 {
            signal.yield()
            try await harness.until("the result on disk") {
                $0.agent.ledger.shares.total.waiting == 15 - number
            }
        }
        var codes: [Code] = []
        for number in 0..<16 { codes.append(try await harness.reply(to: "h\(number)").code) }
        #expect(Set(codes) == [.ok, .tooLarge])
        #expect(harness.agent.store.disk.heldBytes < 1_048_576 + (16 << 20))
        try await harness.close()
    }
}

extension FailureReport {
    /// Reported once for its sender, not for each command.
    fileprivate var isAboutSender: Bool { ref == nil && origin == .intake }
}

@Suite struct `The state directory` {
    private let directory = NSTemporaryDirectory() + "waypost-rights-\(UUID().uuidString)"

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o7777
    }

    // SQLite gives the log and the index the rights of the file, and the file got its own only afterwards.
    @Test func `and all files in it are for the agent's user alone`() throws {
        let store = try Store(directory: directory)
        #expect(mode(directory) == 0o700)
        for name in ["waypost.sqlite", "waypost.sqlite-wal", "lock"] {
            #expect(mode("\(directory)/\(name)") == 0o600, "\(name)")
        }
        // No other process may use the file meanwhile, so that SQLite needs no index in shared memory.
        #expect(mode("\(directory)/waypost.sqlite-shm") == 0o7777)
        #expect(store.notices.isEmpty)
        store.close()
    }

    @Test func `that others may read has its files closed to them, and what is open is complained about`()
        throws
    {
        try PreparedState.create(in: directory)
        chmod(directory, 0o755)
        for name in ["waypost.sqlite", "waypost.sqlite-wal", "waypost.sqlite-shm"] {
            let path = "\(directory)/\(name)"
            if mode(path) == 0o7777 { try Data().write(to: URL(fileURLWithPath: path)) }
            chmod(path, 0o644)
        }
        let store = try Store(directory: directory)
        for name in ["waypost.sqlite", "waypost.sqlite-wal", "waypost.sqlite-shm"] {
            #expect(mode("\(directory)/\(name)") == 0o600, "\(name)")
        }
        #expect(store.notices.count == 1)
        #expect(store.notices.first?.contains("chmod 700 \(directory)") == true)
        store.close()
    }

    @Test func `in which everyone can write is refused`() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        chmod(directory, 0o777)
        let error = #expect(throws: StoreError.self) { try Store(directory: directory) }
        #expect(error?.reason == .writableByOthers)
        #expect(error?.description.contains("chmod 700") == true)
        chmod(directory, 0o1777)
        #expect(throws: StoreError.self) { try Store(directory: directory) }
    }
}
