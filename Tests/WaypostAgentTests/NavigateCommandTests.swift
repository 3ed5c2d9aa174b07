import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite(.timeLimit(.minutes(60))) struct `A command that navigates` {
    private func harness(_ stack: NavigationStack?) async throws -> AgentHarness {
        let router = Router()
        for name in ["a", "b"] {
            if let stack { try router.register(.page("app://\(name)", name: name, in: stack)) }
        }
        return try await AgentHarness(router: router)
    }

    private func top(_ harness: AgentHarness) -> JSONValue? {
        let shown = harness.published.events.last { $0.topic == "waypost/v1/k1/navigation" }
        return shown.flatMap { try? JSONValue(parsing: $0.payload) }?["top"]
    }

    @Test func `goes back after an open in its lane, and what is shown is published`() async throws {
        let stack = NavigationStack(tabs: 2)
        let harness = try await harness(stack)
        harness.receive(#"{"id":"c1","type":"open","url":"app://a?token=x"}"#, on: "waypost/v1/k1/cmd/me")
        harness.receive(#"{"id":"c2","type":"open","url":"app://b"}"#, on: "waypost/v1/k1/cmd/me")
        let reply = try await harness.command(#"{"id":"c3","type":"navigate","action":"back"}"#)
        #expect(reply.code == .ok && reply.result["moved"] == true)
        #expect(reply.result["navigation"]?["top"] == "a")
        #expect(stack.state.top?.name == "a")
        try await harness.until("shown") { top($0) == "a" }
        #expect(
            !harness.published.events.contains {
                $0.topic.hasSuffix("/navigation")
                    && String(decoding: $0.payload, as: UTF8.self).contains("token=x")
            })
        // The same bytes again give the same answer, and do not go back again.
        let again = try await harness.command(#"{"id":"c3","type":"navigate","action":"back"}"#)
        #expect(again.isDuplicate && again.result["navigation"]?["top"] == "a")
        let tab = try await harness.command(#"{"id":"c4","type":"navigate","action":"showTab","tab":7}"#)
        #expect(tab.code == .badField)
        try await harness.close()
    }

    @Test func `is refused where nothing shows screens`() async throws {
        let harness = try await harness(nil)
        let reply = try await harness.command(#"{"id":"c1","type":"navigate","action":"back"}"#)
        #expect(reply.code == .noNavigator && reply.nearest == [])
        #expect(!harness.published.events.contains { $0.topic.hasSuffix("/navigation") })
        try await harness.close()
    }
}
