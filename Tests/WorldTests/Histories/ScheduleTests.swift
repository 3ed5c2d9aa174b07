import Testing

@testable import World

/// The decisions of a world's scheduler, without any thread.
struct ScheduleTests {
    private final class Condition {}

    @Test func `time moves only when nobody can run, and then to the next that somebody waits for`() {
        var schedule = Schedule(seed: 1)
        let condition = Condition()
        let (first, second) = (schedule.began("first"), schedule.began("second"))
        _ = schedule.ended()
        let start = schedule.now
        for later in [30, 20] as [UInt64] {
            _ = schedule.waits(for: ObjectIdentifier(condition), until: start + later * 1_000_000)
        }
        #expect(schedule.now == start + 20_000_000)
        #expect(schedule.wasTimeUp)
        let woken = schedule.running
        #expect(schedule.waits(for: ObjectIdentifier(condition), until: .max) == .of(first + second - woken))
        #expect(schedule.now == start + 30_000_000)
    }

    @Test func `a time that nobody waits for any more is passed over`() {
        var schedule = Schedule(seed: 1)
        let (early, late) = (Condition(), Condition())
        _ = (schedule.began("first"), schedule.began("second"))
        _ = schedule.ended()
        let start = schedule.now
        let first = schedule.running
        _ = schedule.waits(for: ObjectIdentifier(early), until: start + 10_000_000)
        schedule.wakes(ObjectIdentifier(early))
        #expect(schedule.waits(for: ObjectIdentifier(late), until: start + 20_000_000) == .of(first))
        let turn = schedule.waits(for: ObjectIdentifier(late), until: .max)
        #expect(turn != .stuck && turn != .of(first))
        #expect(schedule.now == start + 20_000_000)
    }

    @Test func `all waiting for each other is seen`() {
        var schedule = Schedule(seed: 1)
        let condition = Condition()
        let only = schedule.began("only")
        #expect(schedule.ended() == .of(only))
        #expect(schedule.waits(for: ObjectIdentifier(condition), until: .max) == .stuck)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `who is woken goes on once, before its time`(seed: UInt64) {
        var schedule = Schedule(seed: seed)
        let condition = Condition()
        let numbers = [schedule.began("one"), schedule.began("two"), schedule.began("three")]
        _ = schedule.ended()
        for _ in 1...2 {
            _ = schedule.waits(for: ObjectIdentifier(condition), until: schedule.now + 1_000_000)
        }
        let last = schedule.running
        schedule.wakes(ObjectIdentifier(condition))
        guard case .of(let woken) = schedule.waits(for: ObjectIdentifier(Condition()), until: .max) else {
            Issue.record("nobody can run")
            return
        }
        #expect(numbers.contains(woken) && woken != last)
        #expect(!schedule.wasTimeUp)
        guard case .of(let other) = schedule.waits(for: ObjectIdentifier(Condition()), until: .max) else {
            Issue.record("nobody can run")
            return
        }
        #expect(numbers.reduce(0, +) == last + woken + other)
        #expect(schedule.wasTimeUp)
    }

    @Test func `a thread that never waits lets the others go on now and then`() {
        for seed in 1...20 as ClosedRange<UInt64> {
            var schedule = Schedule(seed: seed)
            let numbers = [schedule.began("one"), schedule.began("two"), schedule.began("three")]
            _ = schedule.ended()
            var seen: Set<Int> = []
            for _ in 0..<20_000 { if case .of(let number) = schedule.passed() { seen.insert(number) } }
            #expect(seen == Set(numbers), "seed \(seed)")
        }
    }
}
