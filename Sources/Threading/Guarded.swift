public import Synchronization

/// A value behind a lock: `Mutex`, visible to the thread sanitizer.
///
/// A thread that has to wait takes the lock of `Mutex` in a library that the sanitizer does not see into, so on Linux
/// it reports a race. The atomic says the same order in code that it sees, for one load and one store.
///
/// Public, although no product offers it: only then is it specialised for the value in other modules.
public struct Guarded<Value: Sendable>: ~Copyable, Sendable {
    @usableFromInline let mutex: Mutex<Value>
    @usableFromInline let order = Atomic<Bool>(false)

    /// The value behind a lock of its own.
    @inlinable
    public init(_ value: Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` alone with the value.
    ///
    /// It must not call out: the called code might need the lock too.
    @inlinable
    public borrowing func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if FAULT_POINTS
        Scheduling.willLock()
        defer { Scheduling.didUnlock() }
        #endif
        return try mutex.withLock { (value) throws(Failure) -> Result in
            _ = order.load(ordering: .acquiring)
            defer { order.store(true, ordering: .releasing) }
            return try body(&value)
        }
    }
}
