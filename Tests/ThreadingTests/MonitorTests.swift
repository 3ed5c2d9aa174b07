import TestSupport
import Testing
import Threading

@Suite(.patient) struct `A monitor` {
    @Test func `wakes a thread that waits for a change`() async {
        let monitor = Monitor(0)
        let race = Race<Int>()
        let failure = PlainThread.start(name: "wp-test") {
            let found = monitor.wait { value, _ -> Monitor<Int>.Step<Int> in
                value > 0 ? .end(value) : .wait(until: .max)
            }
            race.finish(found)
        }
        #expect(failure == nil)
        monitor.withLock { value in
            value = 7
            return ((), wakes: true)
        }
        #expect(await race.outcome() == 7)
    }

    @Test func `waits no longer than it was told`() async {
        let monitor = Monitor(0)
        let race = Race<Bool>()
        _ = PlainThread.start(name: "wp-test") {
            let limit = MonotonicTime.after(.milliseconds(5))
            let isTimeUp = monitor.wait { _, isTimeUp -> Monitor<Int>.Step<Bool> in
                isTimeUp ? .end(true) : .wait(until: limit)
            }
            race.finish(isTimeUp && MonotonicTime.now >= limit)
        }
        #expect(await race.outcome())
    }

    @Test func `a time that never comes is the latest, and one in the past is now`() {
        #expect(MonotonicTime.after(.seconds(1_000_000_000), from: 5) == .max)
        #expect(MonotonicTime.after(.seconds(-1), from: 5) == 5)
        #expect(MonotonicTime.after(.nanoseconds(2), from: 5) == 7)
    }
}
