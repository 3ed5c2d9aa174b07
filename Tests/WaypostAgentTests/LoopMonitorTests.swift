import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `The monitor of the link's loop` {
    @Test func `says once that it stands still, and once that it goes on`() {
        let monitor = LoopMonitor(limit: 20, at: 100)
        #expect(monitor.check(at: 120) == nil)
        #expect(monitor.check(at: 121) == .stalled(21))
        #expect(monitor.isStalled)
        #expect(monitor.check(at: 500) == nil)
        monitor.ticked(at: 600)
        #expect(monitor.check(at: 601) == .recovered(500))
        #expect(!monitor.isStalled)
        #expect(monitor.check(at: 602) == nil)
    }

    @Test func `turns health red and is reported`() async throws {
        let harness = try await AgentHarness()
        harness.agent.loop.ticked(at: harness.agent.clock.monotonic())
        harness.clock.advance(60_000)
        harness.agent.checkLoop()
        let report = try await harness.failure { $0.code == .loopStalled }
        #expect(report.origin == .link)
        #expect(harness.check("loop") == false)
        harness.agent.loop.ticked(at: harness.agent.clock.monotonic())
        harness.agent.checkLoop()
        _ = try await harness.event { $0.message.contains("responds again") }
        #expect(harness.check("loop") == true)
    }
}
