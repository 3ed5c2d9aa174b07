import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite final class `A command of this machine`: Sendable {
    private let ran = Guarded<[String]>([])

    private func router() throws -> Router {
        let router = Router()
        try router.register("a://do/:id") { [self] call in
            ran.withLock {
                $0.append("\(call.parameters["id"]?.stringValue ?? "?") of \(call.context.caller ?? "?")")
            }
            return .opened(.int(7))
        }
        try router.register("a://look", idempotent: true) { [self] _ in
            ran.withLock { $0.append("look") }
            return .opened()
        }
        try router.register("a://hang") { _ in
            try await Task.sleep(for: .seconds(86_400))
            return .opened()
        }
        return router
    }

    private func run(_ payload: String, _ harness: AgentHarness) async throws -> Reply {
        let bytes = await withCheckedContinuation { continuation in
            harness.agent.runLocally(Array(payload.utf8)) { continuation.resume(returning: $0) }
        }
        return try Reply(JSONValue(parsing: bytes, limits: .trustedFile))
    }

    private func rows(_ harness: AgentHarness) throws -> Int {
        try harness.agent.store.commit { try $0.inboxUse() }.reduce(0) { $0 + $1.rows }
    }

    private let open = #"{"type":"open","url":"a://do/1"}"#

    @Test func `runs without a broker as that of local, and nothing of it is stored or published`()
        async throws
    {
        let harness = try await AgentHarness(router: router(), isOnline: false)
        #expect(try await run(open, harness).result["value"] == 7)
        #expect(try await run(open, harness).code == .ok)
        #expect(ran.withLock(\.self) == ["1 of local", "1 of local"])
        #expect(try rows(harness) == 0)
        #expect(try await run(#"{"id":"l1","type":"open","url":"a://look"}"#, harness).code == .ok)
        #expect(try await run(#"{"type":"ping"}"#, harness).result["type"] == "health")
        #expect(try rows(harness) == 0 && harness.agent.executor.waiting == 0)
        #expect(harness.agent.ledger.shares.total == SenderShares.Use())
        #expect(!harness.published.events.contains { $0.topic.contains("/reply/") })
        try await harness.close()
    }

    @Test func `runs once under its id, over a restart too, where it is not idempotent`() async throws {
        let directory = NSTemporaryDirectory() + "waypost-local-\(UUID().uuidString)"
        let named = #"{"id":"l1","type":"open","url":"a://do/1"}"#
        let first = try await AgentHarness(directory: directory, router: router())
        let reply = try await run(named, first)
        #expect(reply.code == .ok && !reply.isDuplicate)
        #expect(try await run(named, first).isDuplicate)
        #expect(try await run(#"{"id":"l1","type":"open","url":"a://look"}"#, first).code == .idReused)
        async let hanging = run(#"{"id":"l2","type":"open","url":"a://hang"}"#, first)
        try await first.until("its start on disk") { (try? self.rows($0)) == 2 }
        try await first.close()
        #expect(try await hanging.code == .interrupted)
        let second = try await AgentHarness(directory: directory, router: router())
        #expect(try await run(named, second).result["value"] == 7)
        try await second.until("the end of what ran") { $0.agent.executor.waiting == 0 }
        #expect(try await run(#"{"id":"l2","type":"open","url":"a://hang"}"#, second).code == .interrupted)
        #expect(ran.withLock(\.self) == ["1 of local"])
        #expect(!second.published.events.contains { $0.topic.contains("/reply/") })
        try await second.close()
    }

    // Its lane waited for it, for ever, and so did who asked again.
    @Test func `whose start can't be stored ends with that, and its lane goes on`() async throws {
        let harness = try await AgentHarness(router: router())
        let named = #"{"id":"l1","type":"open","url":"a://do/1"}"#
        let directory = harness.agent.configuration.stateDirectory
        try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
        let refused = try await run(named, harness)
        #expect(refused.code == .disk && refused.detail?.hasPrefix("its start can't be stored") == true)
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        #expect(ran.withLock(\.self) == [] && harness.agent.executor.waiting == 0)
        #expect(try await run(named, harness).result["value"] == 7)
        #expect(try await run(named, harness).isDuplicate)
        #expect(ran.withLock(\.self) == ["1 of local"])
        try await harness.close()
    }

    // It was answered, and no longer known as done: asked for again it was said to run still, and after a start to have
    // been interrupted.
    @Test func `whose result can't be stored is answered when it can`() async throws {
        let router = try router()
        let harness = try await AgentHarness(router: router)
        let directory = harness.agent.configuration.stateDirectory
        try router.register("a://away") { _ in
            try FileManager.default.moveItem(atPath: directory, toPath: directory + "-away")
            return .opened(7)
        }
        let named = #"{"id":"l1","type":"open","url":"a://away"}"#
        async let answer = run(named, harness)
        try await harness.until("a result that can't be stored") { $0.agent.store.disk.problem != nil }
        try FileManager.default.moveItem(atPath: directory + "-away", toPath: directory)
        let reply = try await answer
        #expect(reply.code == .ok && !reply.isDuplicate)
        #expect(try await run(named, harness).isDuplicate)
        try await harness.close()
    }

    @Test func `is no command of a client of the broker that takes its name`() async throws {
        let harness = try await AgentHarness(router: router())
        harness.receive(#"{"id":"x1","type":"open","url":"a://do/1"}"#, on: "waypost/v1/k1/cmd/local")
        let report = try await harness.failure { $0.code == .notAllowed }
        #expect(report.detail.contains("so programs of the agent's machine are called"))
        #expect(ran.withLock(\.self) == [])
        try await harness.close()
    }

    @Test(arguments: [
        ("nonsense", 400), ("[]", 422), (#"{"type":"open"}"#, 422),
        (#"{"id":"a b","type":"open","url":"a://look"}"#, 422),
        (#"{"type":"open","url":"a://look","after":1}"#, 422), (#"{"type":"open","url":"a://none"}"#, 404),
        (#"{"type":"open","url":"a://look","exp":1}"#, 410), (#"{"type":"dance"}"#, 404),
        ("long", 413),
    ])
    func `that is wrong is answered and reported`(payload: String, code: Int) async throws {
        let harness = try await AgentHarness(router: router())
        let long = #"{"type":"open","url":"\#(String(repeating: "a", count: 70_000))"}"#
        let reply = try await run(payload == "long" ? long : payload, harness)
        #expect(reply.code.number == code, "\(reply)")
        _ = try await harness.failure { $0.code.number == code }
        #expect(ran.withLock(\.self) == [])
        try await harness.close()
    }
}
