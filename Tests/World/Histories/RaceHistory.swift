import Threading

/// A fault that only some orders show: two threads read a number and write it back, one larger.
package final class RaceHistory: Sendable {
    private let number = Guarded(0)
    private let open = Monitor(2)

    package init() {}

    /// Whether both were counted.
    package func run() -> Bool {
        for name in ["one", "other"] {
            let failure = PlainThread.start(name: name) { [self] in
                let seen = number.withLock { $0 }
                number.withLock { $0 = seen + 1 }
                open.withLock { ($0 -= 1, wakes: true) }
            }
            precondition(failure == nil, "no thread")
        }
        open.wait { open, _ in open == 0 ? .end(()) : .wait(until: .max) }
        return number.withLock { $0 } == 2
    }
}
