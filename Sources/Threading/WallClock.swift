#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The time of day, which somebody may set.
package enum WallClock {
    /// Milliseconds since 1970.
    package static func now() -> Int64 {
        if let scheduler = Scheduling.scheduler { return scheduler.wallTime() }
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
