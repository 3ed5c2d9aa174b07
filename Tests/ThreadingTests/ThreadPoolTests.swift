import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Threading

@Suite(.patient, .timeLimit(.minutes(60))) struct `The threads of a pool` {
    @Test func `end when they are renewed and have nothing to do, and others take their place`() async throws
    {
        let pool = ThreadPool(name: "wp-test", usual: 1, limit: 1)
        func thread() async -> Int64 {
            await Task(executorPreference: pool) { CurrentThread.id }.value
        }
        let first = await thread()
        pool.renewThreads()
        // Each of them comes long before the time after which a thread ends that has nothing to do.
        try await eventually("another thread in its place") { await thread() != first }
    }
}

@Suite(.patient, .timeLimit(.minutes(60))) struct `A thread that a pool borrows` {
    /// The threads on which something ran, in order.
    private let ran = EventLog<pthread_t>()
    private let lent = EventLog<pthread_t>()
    private let adopted = EventLog<Void>()

    /// - Parameter interval: how long one job may take before the thread counts as blocked.
    private func pool(
        turn: Duration = .seconds(3_600), interval: Duration = .milliseconds(1), limit: Int = 8
    ) -> ThreadPool {
        ThreadPool(
            name: "wp-test", usual: 2, limit: limit,
            borrowing: BorrowingTimes(
                turn: turn, interval: interval, pauses: .seconds(3_600)...(.seconds(3_600))))
    }

    /// Lends a thread to the pool, which runs these tasks.
    private func visit(
        _ pool: ThreadPool, whenIdle: @escaping @Sendable () -> Void = {},
        _ tasks: [@Sendable () async -> Void]
    ) {
        let (lent, adopted) = (lent, adopted)
        let failure = PlainThread.start(name: "lent") {
            pool.runHere {
                for task in tasks { Task(executorPreference: pool) { await task() } }
            } whenIdle: {
                whenIdle()
            } adopt: {
                adopted.append(())
                return true
            }
            lent.append(pthread_self())
        }
        #expect(failure == nil)
    }

    private func note() -> @Sendable () async -> Void {
        { [ran] in
            ran.append(pthread_self())
            await Task.yield()
            ran.append(pthread_self())
        }
    }

    @Test func `runs what it starts itself, also what is started when that is through`() async throws {
        // On a machine that is busy any job may take a moment.
        let pool = pool(interval: .seconds(3_600))
        let more = Atomic(true)
        let later = note()
        visit(
            pool,
            whenIdle: {
                guard more.exchange(false, ordering: .relaxed) else { return }
                Task(executorPreference: pool) { await later() }
            }, [note(), note()])
        try await lent.wait(for: "its end") { $0.count == 1 }
        #expect(ran.events.count == 6)
        #expect(Set(ran.events) == Set(lent.events))
    }

    @Test func `leaves to the pool what it has no time for`() async throws {
        visit(pool(turn: .zero, interval: .seconds(3_600)), [note(), note(), note()])
        try await ran.wait(for: "all") { $0.count == 6 }
        try await lent.wait(for: "its end") { $0.count == 1 }
        #expect(!ran.events.contains(lent.events[0]))
        #expect(adopted.events.isEmpty)
    }

    @Test func `is adopted when it blocks, others run what it had started, and none is borrowed after it`()
        async throws
    {
        let pool = pool()
        let opens = DispatchSemaphore(value: 0)
        defer { opens.signal() }
        let ran = ran
        visit(
            pool,
            [
                {
                    ran.append(pthread_self())
                    opens.wait()
                }, note(),
            ])
        try await ran.wait(for: "the other") { $0.count == 3 }
        #expect(adopted.events.count == 1)
        let blocked = ran.events[0]
        #expect(!ran.events.dropFirst().contains(blocked))
        #expect(lent.events.isEmpty)
        visit(pool, [note()])
        try await ran.wait(for: "the next") { $0.count == 5 }
        try await lent.wait(for: "its end") { $0.count == 1 }
        #expect(!ran.events.contains(lent.events[0]))
        #expect(adopted.events.count == 1)
    }

    @Test func `is taken again soon after one that blocked, and later each time when each of them does`() {
        var borrowed = BorrowedThread(pauses: .nanoseconds(20)...(.nanoseconds(100)))
        /// Borrows a thread that blocks; when the next may be borrowed.
        func block(at now: UInt64) -> UInt64? {
            guard borrowed.take(at: now, adopt: { true }) else { return nil }
            let (first, second) = (borrowed.check(at: now), borrowed.check(at: now))
            #expect(first == nil && second != nil)
            return (now...now + 1_000).first {
                defer { _ = borrowed.giveBack() }
                return borrowed.take(at: $0, adopt: { true })
            }
        }
        #expect(block(at: 1_000) == 1_020)
        #expect(block(at: 1_019) == nil)
        // One that blocks now and then costs next to nothing.
        #expect(block(at: 1_200) == 1_220)
        #expect(block(at: 1_220) == 1_260)
        #expect(block(at: 1_260) == 1_340)
        #expect(block(at: 1_340) == 1_440)
        #expect(block(at: 2_000) == 2_100)
        #expect(block(at: 3_000) == 3_020)
    }

    // Who lent the thread may have no other for it yet.
    @Test func `is requested again until it can be adopted`() async throws {
        let (pool, ran) = (pool(), ran)
        let opens = DispatchSemaphore(value: 0)
        let asked = EventLog<Void>()
        let failure = PlainThread.start(name: "lent") {
            pool.runHere {
                Task(executorPreference: pool) {
                    ran.append(pthread_self())
                    opens.wait()
                }
            } whenIdle: {
            } adopt: {
                asked.append(())
                return asked.events.count >= 3
            }
        }
        #expect(failure == nil)
        try await asked.wait(for: "the third time") { $0.count == 3 }
        opens.signal()
        visit(pool, [note()])
        try await ran.wait(for: "the other") { $0.count == 3 }
        #expect(asked.events.count == 3)
    }

    @Test func `counts as one of the pool's threads, whose limit holds`() async throws {
        let pool = pool(limit: 1)
        let opens = DispatchSemaphore(value: 0)
        let ran = ran
        visit(
            pool,
            [
                {
                    ran.append(pthread_self())
                    opens.wait()
                }
            ])
        try await adopted.wait(for: "its adoption") { $0.count == 1 }
        // No thread is left for this one.
        visit(pool, [note()])
        try await lent.wait(for: "its end") { $0.count == 1 }
        try await eventually("the pool to have no thread left") { pool.isExhausted }
        #expect(ran.events.count == 1)
        opens.signal()
        // The thread that was adopted is the pool's.
        try await ran.wait(for: "the other") { $0.count == 3 }
        #expect(Set(ran.events).count == 1)
    }
}
