import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `The watch over the link's loop` {
    @Test func `tells once that it stands still, and once that it turns again`() {
        let watch = LoopWatch(limit: 20, at: 100)
        #expect(watch.look(at: 120) == nil)
        #expect(watch.look(at: 121) == .stalled(21))
        #expect(watch.isStalled)
        #expect(watch.look(at: 500) == nil)
        watch.ticked(at: 600)
        #expect(watch.look(at: 601) == .recovered(500))
        #expect(!watch.isStalled)
        #expect(watch.look(at: 602) == nil)
    }

    @Test func `turns health red and is reported`() async throws {
        let house = try House()
        house.agent.loop.ticked(at: house.agent.clock.monotonic())
        house.clock.advance(60_000)
        house.agent.judgeLoop()
        let report = try await house.failure { $0.code == .loopStalled }
        #expect(report.origin == .link)
        #expect(check(house) == false)
        house.agent.loop.ticked(at: house.agent.clock.monotonic())
        house.agent.judgeLoop()
        _ = try await house.event { $0.message.contains("turns again") }
        #expect(check(house) == true)
    }

    private func check(_ house: House) -> Bool? {
        house.agent.report.json["checks"]?.arrayValue?.first { $0["name"] == "loop" }?["ok"]?.boolValue
    }
}
