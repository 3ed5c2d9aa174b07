#if canImport(Glibc)
import Synchronization

/// Sees that one thread at a time is in a part of the code, where a comment says so and no lock is needed.
///
/// Only in builds with assertions; a function may call another one of the same part:
///
///     assert(exclusive.enter())
///     defer { assert(exclusive.leave()) }
package struct ExclusiveThread: ~Copyable, Sendable {
    /// The thread that is in it; 0 for none.
    private let thread = Atomic<Int64>(0)
    /// How often it has entered.
    private let depth = Atomic<Int>(0)

    package init() {}

    /// Whether the calling thread may enter: no other is in.
    package func enter() -> Bool {
        let me = CurrentThread.id
        let isFree = thread.compareExchange(expected: 0, desired: me, ordering: .acquiring)
        guard isFree.exchanged || isFree.original == me else { return false }
        depth.add(1, ordering: .relaxed)
        return true
    }

    /// Whether the calling thread was in; it is not any more, unless it had entered more than once.
    package func leave() -> Bool {
        guard thread.load(ordering: .relaxed) == CurrentThread.id else { return false }
        if depth.subtract(1, ordering: .relaxed).newValue == 0 { thread.store(0, ordering: .releasing) }
        return true
    }
}
#endif
