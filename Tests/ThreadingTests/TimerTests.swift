import Foundation
import TestSupport
import Testing
import Threading

@Suite(.patient) struct `Timers` {
    @Test func `the thread of the timers gives way to another when it is renewed, and no time is missed`()
        async
    {
        // A name of its own for each thread, which no later one gets.
        func thread() async -> String {
            let found = Race<String>()
            TimerThread.shared.call(after: .zero) {
                found.finish(
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? "")
            }
            return await found.outcome()
        }
        let later = Race<Void>()
        TimerThread.shared.call(after: .milliseconds(200)) { later.finish(()) }
        let before = await thread()
        TimerThread.shared.renewThread()
        // The first may still find the old one.
        _ = await thread()
        #expect(await thread() != before)
        await later.outcome()
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `calls come in the order of their times, and those taken back never`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = TimerQueue()
        let fired = Guarded<[UInt64]>([])
        var expected: [UInt64] = []
        var longest = 0
        for now in 1...2_000 as ClosedRange<UInt64> {
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let time = now + UInt64.random(in: 0...500, using: &random)
                let (number, _) = queue.add({ fired.withLock { $0.append(time) } }, at: time)
                if Bool.random(using: &random) {
                    #expect(queue.remove(number) != nil)
                } else {
                    expected.append(time)
                }
            }
            longest = max(longest, queue.entries - 2 * queue.count)
            for body in queue.takeDue(at: now) { body() }
        }
        while queue.nextTime != .max { for body in queue.takeDue(at: queue.nextTime) { body() } }
        #expect(fired.withLock { $0 } == expected.sorted())
        #expect(longest <= 65)
    }
}
