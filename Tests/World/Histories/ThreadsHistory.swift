import Threading

/// A small program of threads, tasks, timers and a queue, which does nothing but show in which order it runs.
package final class ThreadsHistory: Sendable {
    private actor Ledger {
        private(set) var lines: [String] = []

        func write(_ line: String) { lines.append(line) }
    }

    private let scheduler: SeededScheduler
    private let count = Guarded(0)
    private let queue = Monitor<[Int]>([])
    private let pool = ThreadPool(name: "workers", usual: 2, limit: 4)
    private let ledger = Ledger()

    package init(_ scheduler: SeededScheduler) { self.scheduler = scheduler }

    /// Whether all that must come out whatever the order has come out.
    package func run() -> Bool {
        let open = Monitor(0)
        let parts: [@Sendable () async -> Void] = [tasks, timers, cancelled, pooled]
        for part in parts {
            open.withLock { ($0 += 1, wakes: false) }
            Task {
                await part()
                open.withLock { ($0 -= 1, wakes: true) }
            }
        }
        let seen = queueOfThreads()
        open.wait { open, _ in open == 0 ? .end(()) : .wait(until: .max) }
        return seen.sorted() == (0..<12).map { $0 } && count.withLock { $0 } == 4 * 20
    }

    /// Three threads put numbers into a queue from which a fourth, this one, takes them.
    private func queueOfThreads() -> [Int] {
        for number in 0..<3 {
            let failure = PlainThread.start(name: "producer-\(number)") { [queue] in
                for item in 0..<4 {
                    if item % 2 == number % 2 {
                        CurrentThread.sleep(for: .milliseconds(Int64(number + item)))
                    }
                    queue.withLock { ($0.append(4 * number + item), wakes: true) }
                }
            }
            precondition(failure == nil, "no thread")
        }
        var seen: [Int] = []
        while seen.count < 12 {
            let item = queue.wait { items, _ -> Monitor<[Int]>.Step<Int> in
                items.isEmpty ? .wait(until: .max) : .end(items.removeFirst())
            }
            scheduler.note("took \(item)")
            seen.append(item)
        }
        return seen
    }

    /// Tasks on the threads that all share, which write to one actor.
    private func tasks() async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask { [self] in
                    for _ in 0..<20 { count.withLock { $0 += 1 } }
                    await ledger.write("\(number)")
                }
            }
        }
        scheduler.note("tasks \(await ledger.lines)")
    }

    /// Waits that end at the same time, or nearly.
    private func timers() async {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask { [scheduler] in
                    try? await MonotonicTime.sleep(for: .milliseconds(number < 2 ? 10 : 3_600_000))
                    scheduler.note("slept \(number)")
                }
            }
        }
    }

    /// One that waits for what never comes, and is cancelled meanwhile.
    private func cancelled() async {
        let promise = Promise<Int>()
        let waiting = Task { try? await promise.value() }
        try? await MonotonicTime.sleep(for: .milliseconds(5))
        waiting.cancel()
        scheduler.note("cancelled \(await waiting.value == nil)")
    }

    /// Work on a pool, some of which blocks its thread.
    private func pooled() async {
        let tasks = (0..<4).map { number in
            Task(executorPreference: pool) { [scheduler] in
                if number % 2 == 0 { CurrentThread.sleep(for: .milliseconds(300)) }
                scheduler.note("worked \(number)")
            }
        }
        for task in tasks { await task.value }
    }
}
