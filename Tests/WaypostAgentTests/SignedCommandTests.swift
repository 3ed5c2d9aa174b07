import Synchronization
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

@Suite struct `A signed command` {
    private static let key = try? SigningKey(text: Base64.encode([UInt8](repeating: 9, count: 32)))

    /// How often the handler ran.
    private final class Runs: Sendable {
        let count = Atomic<Int>(0)
    }

    private func harness(_ runs: Runs = Runs()) async throws -> AgentHarness {
        let router = Router()
        try router.register("app://append") { _ in
            runs.count.add(1, ordering: .relaxed)
            return .opened()
        }
        let open = try #require(Self.key).verifyingKey
        return try await AgentHarness(router: router) { configuration in
            do {
                try configuration.trust.pin("ops", key: Base64.encode(open.bytes))
                configuration.trust.coversCommands = true
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    private func signed(_ changes: [String: JSONValue] = [:], at now: Int64) throws -> String {
        let members: [String: JSONValue] = [
            "id": "c1", "type": "open", "url": "app://append", "aud": "k1", "from": "me",
            "exp": .int(now + 60_000),
        ]
        let command = JSONValue.object(members.merging(changes) { $1 }.filter { !$0.value.isNull })
        var envelope = SignedEnvelope(
            payloadType: SignedEnvelope.commandType, payload: command.serialized())
        try envelope.signed(with: try #require(Self.key), id: "ops")
        return String(decoding: envelope.encoded(), as: UTF8.self)
    }

    @Test func `one delivered on the topics of four senders runs once`() async throws {
        let runs = Runs()
        let harness = try await harness(runs)
        let command = try signed(at: harness.clock.now)
        var codes: [Code] = []
        for sender in ["me", "eve", "ops", "mallory"] {
            harness.receive(command, on: "waypost/v1/k1/cmd/\(sender)")
            codes.append(try await harness.reply(to: "c1", from: sender).code)
        }
        #expect(codes == [.ok, .notAllowed, .notAllowed, .notAllowed])
        let before = harness.published.events.count
        harness.receive(command, on: "waypost/v1/@fleet/cmd/me")
        #expect(try await harness.reply(to: "c1", after: before).detail?.contains("aud") == true)
        #expect(runs.count.load(ordering: .relaxed) == 1)
        try await harness.close()
    }

    @Test(
        arguments: [
            ("from", nil, Code.badField), ("from", "eve", .notAllowed), ("aud", nil, .badField),
            ("aud", "k2", .notAllowed), ("aud", "@all", .notAllowed), ("exp", nil, .badField),
            ("exp", 9_999_999_999_999, .badField), ("exp", "soon", .badField), ("from", 1, .badField),
        ] as [(String, JSONValue?, Code)])
    func `is refused when a field that must be signed is missing or another`(
        _ name: String, _ value: JSONValue?, _ code: Code
    ) async throws {
        let harness = try await harness()
        harness.receive(
            try signed([name: value ?? .null], at: harness.clock.now), on: "waypost/v1/k1/cmd/me")
        let reply = try await harness.reply(to: "c1")
        #expect(reply.code == code)
        #expect(reply.detail?.contains(name) == true)
        try await harness.close()
    }

    @Test func `without an id is refused and reported`() async throws {
        let harness = try await harness()
        harness.receive(try signed(["id": .null], at: harness.clock.now), on: "waypost/v1/k1/cmd/me")
        #expect(try await harness.failure { $0.origin == .intake }.detail.contains("id is missing"))
        try await harness.close()
    }

    @Test func `for a group names the group`() async throws {
        let runs = Runs()
        let harness = try await harness(runs)
        harness.receive(
            try signed(["aud": "@fleet"], at: harness.clock.now), on: "waypost/v1/@fleet/cmd/me")
        #expect(try await harness.reply(to: "c1").code == .ok)
        #expect(runs.count.load(ordering: .relaxed) == 1)
        try await harness.close()
    }

    @Test func `can't be required without a key`() async throws {
        await #expect(throws: AgentConfigurationError.self) {
            _ = try await AgentHarness { $0.trust.coversCommands = true }
        }
    }
}
