#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A clock that only goes forward.
///
/// As a number, for an instant of `ContinuousClock` has no size that the compiler knows, and so has nothing that holds
/// one.
package enum MonotonicTime {
    /// How long it is since that time of ``continuous``.
    package static func elapsed(since start: UInt64) -> Duration {
        .nanoseconds(Int64(truncatingIfNeeded: continuous &- start))
    }

    #if canImport(Glibc) || canImport(Musl)
    /// In nanoseconds; it stands still while the machine is suspended.
    package static var now: UInt64 { read(CLOCK_MONOTONIC) }

    /// In nanoseconds; it goes on while the machine is suspended.
    package static var continuous: UInt64 { read(CLOCK_BOOTTIME) }

    private static func read(_ clock: clockid_t) -> UInt64 {
        if let scheduler = Scheduling.scheduler { return scheduler.time() }
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
    #else
    private static let start = (suspending: SuspendingClock.now, continuous: ContinuousClock.now)

    /// In nanoseconds; it stands still while the machine is suspended.
    package static var now: UInt64 { nanoseconds(in: SuspendingClock.now - start.suspending) }

    /// In nanoseconds; it goes on while the machine is suspended.
    package static var continuous: UInt64 { nanoseconds(in: ContinuousClock.now - start.continuous) }

    /// A time of 0 is that of something that never was.
    private static func nanoseconds(in duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        return 1 + UInt64(clamping: seconds) * 1_000_000_000 + UInt64(clamping: attoseconds / 1_000_000_000)
    }
    #endif

    /// ``continuous`` as an instant, for what reckons with durations.
    package static var instant: ContinuousClock.Instant {
        if let scheduler = Scheduling.scheduler { return beginning + .nanoseconds(Int64(scheduler.time())) }
        return .now
    }

    /// Where there is a scheduler, the time 0.
    private static let beginning = ContinuousClock.now

    /// Waits that long.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before.
    nonisolated(nonsending) package static func sleep(for delay: Duration) async throws {
        await TimerThread.shared.sleep(for: delay)
        if Task.isCancelled { throw CancellationError() }
    }

    /// Waits until that time of ``instant``.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before.
    nonisolated(nonsending) package static func sleep(
        until time: ContinuousClock.Instant
    ) async throws {
        try await sleep(for: time - instant)
    }

    /// The time a while after another, or after now; `.max` when that is too far away to come.
    package static func after(_ delay: Duration, from start: UInt64 = now) -> UInt64 {
        let (seconds, attoseconds) = delay.components
        guard seconds >= 0, attoseconds >= 0 else { return start }
        guard seconds < 1_000_000_000 else { return .max }
        return start + UInt64(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
