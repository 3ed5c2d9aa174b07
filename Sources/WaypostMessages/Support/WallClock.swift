import Glibc

/// The time of day.
package enum WallClock {
    /// Milliseconds since 1970.
    package static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

extension Identifier {
    /// An id of this moment, for a command or a document.
    package static func ulid() -> String { ulid(at: WallClock.now()) }
}
