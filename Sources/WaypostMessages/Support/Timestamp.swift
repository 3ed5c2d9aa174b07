import Glibc

/// Times as text, one form for each purpose; all from milliseconds since 1970.
package enum Timestamp {
    /// From 1970 to the end of 9999, for RFC 3339 has four digits for the year; another time is moved to the nearer end.
    private static let range: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Whether a time is one of 2001 to 2286 if it is taken as seconds: as milliseconds it would be in 1970.
    package static func looksLikeSeconds(_ time: Int64) -> Bool {
        (1_000_000_000..<10_000_000_000).contains(time)
    }

    /// RFC 3339 with milliseconds, in UTC: `2026-11-20T23:16:39.123Z`.
    package static func rfc3339(_ milliseconds: Int64) -> String {
        text(milliseconds, "%Y-%m-%dT%H:%M:%S.", gmtime_r, hasFraction: true, suffix: "Z")
    }

    /// For the name of a file, in UTC: `20261120-231639`.
    package static func compact(_ milliseconds: Int64) -> String {
        text(milliseconds, "%Y%m%d-%H%M%S", gmtime_r)
    }

    /// For people, in local time: `2026-11-20 23:16:39`.
    package static func local(_ milliseconds: Int64) -> String {
        text(milliseconds, "%Y-%m-%d %H:%M:%S", localtime_r)
    }

    /// Android's `threadtime`, in local time or UTC: `11-20 23:16:39.123`.
    package static func threadTime(
        _ milliseconds: Int64, isUTC: Bool = false, hasYear: Bool = false
    ) -> String {
        text(
            milliseconds, hasYear ? "%Y-%m-%d %H:%M:%S." : "%m-%d %H:%M:%S.",
            isUTC ? gmtime_r : localtime_r, hasFraction: true)
    }

    private static func text(
        _ milliseconds: Int64, _ format: String,
        _ split: (UnsafePointer<time_t>, UnsafeMutablePointer<tm>) -> UnsafeMutablePointer<tm>?,
        hasFraction: Bool = false, suffix: String = ""
    ) -> String {
        let time = min(max(milliseconds, range.lowerBound), range.upperBound)
        var seconds = time_t(time / 1_000)
        var parts = tm()
        _ = split(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 32) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let start = buffer.baseAddress else { return 0 }
                let length = strftime(start, buffer.count, format, &parts)
                guard hasFraction, length + 3 + suffix.utf8.count < buffer.count else { return length }
                buffer[length] = CChar(48 + time / 100 % 10)
                buffer[length + 1] = CChar(48 + time / 10 % 10)
                buffer[length + 2] = CChar(48 + time % 10)
                for (place, byte) in suffix.utf8.enumerated() {
                    buffer[length + 3 + place] = CChar(bitPattern: byte)
                }
                return length + 3 + suffix.utf8.count
            }
        }
    }
}
