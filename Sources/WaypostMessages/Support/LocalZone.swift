import Glibc

/// The zone of this machine.
package enum LocalZone {
    /// How many seconds clocks are ahead of UTC, at a moment in seconds since 1970.
    package typealias Offset = @Sendable (_ moment: Int64) -> Int64

    /// As the system is set.
    package static let system: Offset = { moment in
        var seconds = time_t(moment)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return Int64(parts.tm_gmtoff)
    }
}
