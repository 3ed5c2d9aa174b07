#if canImport(Glibc) || canImport(Musl)
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// A value behind a lock, for which a thread can wait.
///
/// Only for threads of our own: a task would block a thread of the pool. `Sendable`, because the value is used behind
/// the mutex only, comes in by sending, and the two addresses never change.
package final class Monitor<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let change: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    /// What a waiting thread does next.
    package enum Step<Result> {
        case end(Result)
        /// Waits for a change, but not after this time of ``MonotonicTime/now``.
        case wait(until: UInt64)
    }

    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        change = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(change, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(change)
        pthread_mutex_destroy(mutex)
        change.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` alone with the value; wakes one waiting thread when it returns true beside its result.
    package func withLock<Result>(_ body: (inout Value) -> (Result, wakes: Bool)) -> Result {
        Scheduling.willLock()
        defer { Scheduling.didUnlock() }
        pthread_mutex_lock(mutex)
        let (result, wakes) = body(&value)
        pthread_mutex_unlock(mutex)
        guard wakes else { return result }
        if let scheduler = Scheduling.scheduler {
            scheduler.wake(ObjectIdentifier(self))
        } else {
            pthread_cond_signal(change)
        }
        return result
    }

    /// Runs `body` alone with the value, again after each change, until it has a result.
    ///
    /// `isTimeUp` is whether the time for which it wanted to wait is over.
    package func wait<Result>(_ body: (inout Value, _ isTimeUp: Bool) -> Step<Result>) -> Result {
        Scheduling.willLock()
        defer { Scheduling.didUnlock() }
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var isTimeUp = false
        while true {
            switch body(&value, isTimeUp) {
            case .end(let result): return result
            case .wait(let time): isTimeUp = waitForChange(until: time)
            }
        }
    }

    /// Lets others have the lock meanwhile; true when the time is over.
    private func waitForChange(until time: UInt64) -> Bool {
        if let scheduler = Scheduling.scheduler {
            pthread_mutex_unlock(mutex)
            defer { pthread_mutex_lock(mutex) }
            return scheduler.wait(for: ObjectIdentifier(self), until: time)
        }
        guard time != .max else {
            pthread_cond_wait(change, mutex)
            return false
        }
        var limit = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        return pthread_cond_timedwait(change, mutex, &limit) == ETIMEDOUT
    }
}
#endif
