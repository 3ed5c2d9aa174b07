/// Who runs, who waits, and what time it is: the decisions of a scheduler, all from one seed.
///
/// The thread with the highest priority runs until it waits, or until it comes to a place that was drawn, where it gets
/// the lowest of all. A fault that needs few such changes at the right places is found sooner so than by drawing a thread at
/// each place (Burckhardt and others, *A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs*, 2010).
/// Time is a number, which goes on a little with each look at it; when nobody can run it moves to the next time that somebody
/// waits for.
struct Schedule {
    /// Of a thread, from its start to its end.
    struct Thread {
        let number: Int
        let name: String
        fileprivate var priority: Int64
        fileprivate(set) var wait: Wait?
        fileprivate var wasTimeUp = false
    }

    struct Wait {
        let condition: ObjectIdentifier
        let until: UInt64
    }

    /// What became of a turn.
    enum Turn: Equatable {
        case of(Int)
        /// All threads wait, and none for a time.
        case stuck
    }

    private(set) var threads: [Thread] = []
    private(set) var running = 0
    private(set) var steps: UInt64 = 0
    private(set) var switches: UInt64 = 0
    /// In nanoseconds.
    private(set) var now: UInt64
    private(set) var digest: Digest
    private var draws: Draws
    /// The step at which the running thread gets the lowest priority.
    private var nextChange: UInt64 = 0
    /// How many steps there are between two changes on the average, in this history.
    private let pace: UInt64
    private var lowest: Int64 = 0
    private var nextTime = UInt64.max
    private var last = 0

    /// - Parameters:
    ///   - now: what it goes on from.
    ///   - digest: that of what was before.
    init(seed: UInt64, now: UInt64 = 1_000_000_000, digest: Digest = Digest()) {
        (self.now, self.digest) = (now, digest)
        draws = Draws(seed: seed, stream: 1)
        pace = [4, 30, 200, 2_000].randomElement(using: &draws) ?? 30
        drawChange()
    }

    /// Whether no wait is over before the next time that is looked at.
    private var isConsistent: Bool { threads.allSatisfy { ($0.wait?.until ?? .max) >= nextTime } }

    private mutating func drawChange() {
        nextChange = steps + UInt64.random(in: 1...(2 * pace), using: &draws)
    }

    /// A thread more, which can run; its number.
    mutating func began(_ name: String) -> Int {
        last += 1
        let priority = Int64.random(in: 1...(1 << 40), using: &draws)
        threads.append(Thread(number: last, name: name, priority: priority))
        digest.add(UInt64(last))
        digest.add(name.utf8)
        return last
    }

    /// The running thread is at a place where another may go on.
    mutating func passed() -> Turn {
        steps += 1
        // So it is almost always: nothing changes, and so nothing is looked at.
        guard steps >= nextChange || now >= nextTime else { return .of(running) }
        defer { assert(isConsistent) }
        if steps >= nextChange {
            lowest -= 1
            change(running) { [lowest] in $0.priority = lowest }
            drawChange()
        }
        return nextTurn()
    }

    /// The running thread waits.
    mutating func waits(for condition: ObjectIdentifier, until time: UInt64) -> Turn {
        defer { assert(isConsistent) }
        steps += 1
        change(running) {
            $0.wait = Wait(condition: condition, until: time)
            $0.wasTimeUp = false
        }
        nextTime = min(nextTime, time)
        return nextTurn()
    }

    /// Whether the running thread was not woken before its time.
    var wasTimeUp: Bool { threads.first { $0.number == running }?.wasTimeUp ?? false }

    /// Wakes one of those who wait for that.
    mutating func wakes(_ condition: ObjectIdentifier) {
        let waiting = threads.filter { $0.wait?.condition == condition }.map(\.number)
        guard let woken = waiting.randomElement(using: &draws) else { return }
        digest.add(UInt64(woken))
        change(woken) { $0.wait = nil }
    }

    /// The running thread is at its end.
    mutating func ended() -> Turn {
        threads.removeAll { $0.number == running }
        return nextTurn()
    }

    mutating func looksAtTime() -> UInt64 {
        now += 1_000
        return now
    }

    /// Something happened that belongs to the history.
    mutating func note(_ text: some Sequence<UInt8>, _ bytes: [UInt8] = []) {
        digest.add(now)
        digest.add(UInt64(running))
        digest.add(text)
        if !bytes.isEmpty { digest.add(bytes) }
    }

    private mutating func change(_ number: Int, _ change: (inout Thread) -> Void) {
        if let index = threads.firstIndex(where: { $0.number == number }) { change(&threads[index]) }
    }

    private mutating func nextTurn() -> Turn {
        if now >= nextTime { endWaits() }
        var next = nextReady
        if next == nil {
            // Exactly, for who waited until the next time may have been woken before.
            endWaits()
            if nextTime < .max {
                now = nextTime
                endWaits()
                next = nextReady
            }
        }
        guard let next else { return .stuck }
        if next != running {
            switches += 1
            digest.add(steps)
            digest.add(UInt64(next))
            digest.add(now)
        }
        running = next
        return .of(next)
    }

    private var nextReady: Int? {
        var next: (number: Int, priority: Int64)?
        for index in threads.indices where threads[index].wait == nil {
            let priority = threads[index].priority
            if next.map({ $0.priority < priority }) ?? true { next = (threads[index].number, priority) }
        }
        return next?.number
    }

    private mutating func endWaits() {
        nextTime = .max
        for index in threads.indices {
            guard let wait = threads[index].wait else { continue }
            if wait.until <= now {
                threads[index].wait = nil
                threads[index].wasTimeUp = true
            } else {
                nextTime = min(nextTime, wait.until)
            }
        }
    }
}
