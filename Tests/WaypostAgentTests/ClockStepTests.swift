import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent

@Suite struct `A clock that is set` {
    private static let hour: Int64 = 3_600_000

    private func failure(_ house: House, at time: Int64) -> FailureReport {
        FailureReport(id: "f", code: .noRoute, origin: .router, ref: "c1", detail: "no route", at: time)
    }

    @Test func `back does not hold failures back`() throws {
        let house = try House()
        let failures = FailureLog()
        #expect(failures.occurred(failure(house, at: house.clock.now)).count == 1)
        house.clock.step(-Self.hour)
        #expect(failures.occurred(failure(house, at: house.clock.now)).count == 1)
        #expect(failures.occurred(failure(house, at: house.clock.now)).isEmpty)
        house.clock.step(-Self.hour)
        #expect(failures.windowsOver(at: house.clock.now).map(\.count) == [2])
    }

    @Test func `repetitions whose window nobody looked at are reported before the next one`() throws {
        let house = try House()
        let failures = FailureLog()
        for _ in 0..<3 { _ = failures.occurred(failure(house, at: house.clock.now)) }
        house.clock.advance(FailureLog.window)
        #expect(failures.occurred(failure(house, at: house.clock.now)).map(\.count) == [3, 1])
    }

    @Test(arguments: [hour, 24 * hour])
    func `ahead makes it forget no id early, so a repeated command does not run again`(step: Int64)
        async throws
    {
        let house = try House()
        let command = #"{"id":"c1","type":"ping"}"#
        #expect(try await house.command(command).isDuplicate == false)
        try await house.until("the end of the command") { _ in house.agent.outbox.waiting == 0 }
        house.clock.step(step)
        // Its chores come every few seconds; they see the step, and later a clock that goes evenly again.
        for _ in 0..<14 {
            _ = await house.agent.forget(after: 0)
            house.clock.advance(60_000)
        }
        #expect(try await house.command(command).isDuplicate)

        for _ in 0..<10 {
            house.clock.advance(60_000)
            _ = await house.agent.forget(after: 0)
        }
        #expect(try house.agent.store.commit { try $0.inboxCount() } == 0)
        await house.close()
    }
}
