import Foundation
import Glibc
import TestSupport
import Testing
import Threading

@Suite(.patient) struct `A thread of our own` {
    @Test func `has its name, its number, and no signals but faults`() async {
        struct Found: Sendable {
            var name: String
            var number: Int64
            var again: Int64
            var blocked: [Int32]
        }
        let found = Race<Found>()
        let failure = PlainThread.start(name: "wp-named") {
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            let blocked = [SIGPIPE, SIGTERM, SIGSEGV].filter { sigismember(&mask, $0) == 1 }
            let text = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
            found.finish(
                Found(name: text, number: CurrentThread.id, again: CurrentThread.id, blocked: blocked))
        }
        #expect(failure == nil)
        let thread = await found.outcome()
        #expect(thread.name == "wp-named\n")
        #expect(thread.number > 0 && thread.number == thread.again)
        #expect(thread.blocked == [SIGPIPE, SIGTERM])
    }

    @Test func `has another number than the one that runs beside it`() async {
        let (first, second, end) = (Race<Int64>(), Race<Int64>(), OneShotEvent())
        for race in [first, second] {
            let failure = PlainThread.start(name: "wp-beside") {
                race.finish(CurrentThread.id)
                // It stays until both have theirs: a number may be given again.
                var patience = Patience()
                while first.first == nil || second.first == nil, !patience.isOver(at: 0) { usleep(1_000) }
                end.fire()
            }
            #expect(failure == nil)
        }
        #expect(await first.outcome() != second.outcome())
        await end.wait()
    }
}

@Suite(.patient) struct `A wake-up` {
    private func canBeRead(_ wakeUp: WakeUp, within milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, milliseconds) == 1
    }

    @Test func `wakes who polls it, until it is quiet again, however often it was rung`() async {
        let wakeUp = WakeUp()
        #expect(!canBeRead(wakeUp, within: 0))
        let rung = Race<Void>()
        let failure = PlainThread.start(name: "wp-ring") {
            for _ in 0..<3 { wakeUp.ring() }
            rung.finish(())
        }
        #expect(failure == nil)
        #expect(canBeRead(wakeUp, within: 60_000))
        await rung.outcome()
        #expect(canBeRead(wakeUp, within: 0))
        wakeUp.quiet()
        #expect(!canBeRead(wakeUp, within: 0))
        // Nothing to take is no reason to wait.
        wakeUp.quiet()
    }
}

@Suite(.patient) struct `A value behind a lock` {
    @Test func `is changed by one at a time`() async {
        let counter = Counter()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<10_000 { counter.number.withLock { $0 += 1 } } }
            }
        }
        #expect(counter.number.withLock { $0 } == 80_000)
    }

    private final class Counter: Sendable {
        let number = Guarded(0)
    }
}

@Suite(.patient) struct `A call after a while` {
    @Test func `is made once, and not when it is taken back before`() async {
        let (made, taken) = (Race<Int>(), Race<Int>())
        let back = DelayedCall(after: .seconds(3_600), on: .continuous) { taken.finish(1) }
        back.cancel()
        _ = DelayedCall(after: .milliseconds(1), on: .continuous) { made.finish(2) }
        #expect(await made.outcome() == 2)
        #expect(taken.first == nil)
    }

    @Test func `is made by another clock too`() async {
        let made = Race<Int>()
        _ = DelayedCall(after: .milliseconds(1), on: SuspendingClock()) { made.finish(2) }
        #expect(await made.outcome() == 2)
    }
}
