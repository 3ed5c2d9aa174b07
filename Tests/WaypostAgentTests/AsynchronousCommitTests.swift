import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

/// With `Durability.off` replies leave before they are stored.
@Suite struct `An agent that does not wait for its store` {
    private static let topic = "waypost/v1/k1/cmd/me"

    private func agent(
        directory: String? = nil, router: Router = Router(), isOnline: Bool = true,
        configure: (inout AgentConfiguration) -> Void = { _ in }
    ) async throws -> AgentHarness {
        try await AgentHarness(directory: directory, router: router, isOnline: isOnline) {
            $0.durability = .off
            configure(&$0)
        }
    }

    private static func ping(_ number: Int) -> String { "{\"id\":\"c\(number)\",\"type\":\"ping\"}" }

    private func state(_ id: String, _ harness: AgentHarness) throws -> InboxState? {
        try harness.agent.store.commit { try $0.timeline(topic: Self.topic, id: id)?.state }
    }

    @Test func `knows a command again whose reply it just sent`() async throws {
        let harness = try await agent { $0.limits.intakeRate = 0 }
        for number in 0..<50 {
            #expect(try await !harness.command(Self.ping(number)).isDuplicate)
            #expect(try await harness.command(Self.ping(number)).isDuplicate)
            let other = "{\"id\":\"c\(number)\",\"type\":\"replay\",\"since\":0}"
            #expect(try await harness.command(other).code == .idReused)
        }
    }

    @Test func `forgets nothing when it is stopped`() async throws {
        let before = try await agent()
        #expect(try await before.command(Self.ping(0)).code == .ok)
        try await before.close()
        let after = try await agent(directory: before.agent.configuration.stateDirectory)
        #expect(try await after.command(Self.ping(0)).isDuplicate)
        try await after.close()
    }

    @Test func `stores a command whose handler takes long in a moment`() async throws {
        let router = Router()
        let (goAhead, signal) = AsyncStream.makeStream(of: Void.self)
        try router.register("scheme://slow", idempotent: true) { _ in
            for await _ in goAhead { break }
            return .opened()
        }
        let harness = try await agent(router: router)
        harness.receive(#"{"id":"s1","type":"open","url":"scheme://slow"}"#, on: Self.topic)
        try await harness.until("the command on disk") { (try? state("s1", $0)) == .received }
        signal.finish()
        try await harness.until("its result on disk") { (try? state("s1", $0)) == .acknowledged }
    }

    @Test func `stores the start of what is not idempotent, after the fact`() async throws {
        let router = Router()
        try router.register("scheme://once") { _ in .opened() }
        let harness = try await agent(router: router)
        #expect(try await harness.command(#"{"id":"o1","type":"open","url":"scheme://once"}"#).code == .ok)
        try await harness.until("its end on disk") { (try? state("o1", $0)) == .acknowledged }
    }

    // They are left to the disk before they are on it.
    @Test func `sends the replies for which there is no space in memory`() async throws {
        let harness = try await agent(isOnline: false) {
            $0.limits.outboxMemoryBytes = 65_536
            $0.limits.intakeRate = 0
        }
        for number in 0..<400 { harness.receive(Self.ping(number), on: Self.topic) }
        harness.link.connect()
        for number in 400..<500 { harness.receive(Self.ping(number), on: Self.topic) }
        for number in 0..<500 { #expect(try await harness.reply(to: "c\(number)").code == .ok) }
    }
}
