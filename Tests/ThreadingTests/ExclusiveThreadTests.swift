import TestSupport
import Testing

@testable import Threading

/// That one thread at a time is in a part of the code.
@Suite(.patient) struct ExclusiveThreadTests {
    private final class Part: Sendable { let exclusive = ExclusiveThread() }

    private let part = Part()

    /// What another thread gets.
    private func elsewhere(_ body: @escaping @Sendable (Part) -> Bool) async -> Bool {
        let (part, race) = (part, Race<Bool>())
        #expect(PlainThread.start(name: "wp-test") { race.finish(body(part)) } == nil)
        return await race.outcome()
    }

    @Test func `a thread enters again where it is in, and no other does`() async {
        let gate = Monitor(0)
        let (part, inside, done) = (part, Race<Bool>(), Race<Bool>())
        let failure = PlainThread.start(name: "wp-test") {
            inside.finish(part.exclusive.enter() && part.exclusive.enter())
            _ = gate.wait { value, _ -> Monitor<Int>.Step<Int> in value > 0 ? .end(value) : .wait(until: .max)
            }
            done.finish(part.exclusive.leave() && part.exclusive.leave() && !part.exclusive.leave())
        }
        #expect(failure == nil)
        #expect(await inside.outcome())
        #expect(await !elsewhere { $0.exclusive.enter() })
        #expect(await !elsewhere { $0.exclusive.leave() }, "it is not in")
        gate.withLock { value in
            value = 1
            return ((), wakes: true)
        }
        #expect(await done.outcome())
        #expect(await elsewhere { $0.exclusive.enter() && $0.exclusive.leave() })
    }
}
