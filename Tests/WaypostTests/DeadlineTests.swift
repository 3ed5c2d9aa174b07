import Foundation
import Glibc
import Testing
import Threading

@testable import Waypost

@Suite struct `Deadlines` {
    @Test func `a handler that does not wait runs on the thread of its caller`() async throws {
        let router = Router()
        let inside = Guarded<pthread_t?>(nil)
        try router.register("a://x") { _ in
            inside.withLock { $0 = pthread_self() }
            return .opened()
        }
        let before = pthread_self()
        #expect(await router.open("a://x").isSuccess)
        #expect(inside.withLock { $0 } == before)
    }

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

    @Test func `what is cancelled before it begins does not run`() async throws {
        let router = Router()
        let runs = Guarded(0)
        try router.register("a://x") { _ in
            runs.withLock { $0 += 1 }
            return .opened()
        }
        let open = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await router.open("a://x")
        }
        #expect(await open.value.code == .canceled)
        #expect(runs.withLock { $0 } == 0)
    }

    @Test func `at its deadline a handler that waits is cancelled`() async throws {
        let router = Router(configuration: RouterConfiguration(handlerDeadline: .milliseconds(5)))
        let ended = Race<Bool>()
        try router.register("a://x") { _ in
            try? await Task.sleep(for: .seconds(600))
            ended.finish(Task.isCancelled)
            return .opened()
        }
        #expect(await router.open("a://x").code == .deadline)
        #expect(await ended.outcome())
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `calls come in the order of their times, and those taken back never`(seed: UInt64) {
        var random = Seeded(seed)
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
