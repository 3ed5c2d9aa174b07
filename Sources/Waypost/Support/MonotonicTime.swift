#if canImport(Glibc)
import Glibc

/// A clock that only goes forward and stands still while the machine is suspended.
package enum MonotonicTime {
    /// In nanoseconds.
    package static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The time after a while; `.max` when that is too far away to come.
    package static func after(_ delay: Duration) -> UInt64 {
        let (seconds, attoseconds) = delay.components
        guard seconds >= 0, attoseconds >= 0 else { return now }
        guard seconds < 1_000_000_000 else { return .max }
        return now + UInt64(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
#endif
