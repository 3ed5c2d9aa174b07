import Glibc
import Threading

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
        let parts = split(milliseconds, gmtime_r)
        // One goes with each message; what takes a format needs three times as long.
        return String(unsafeUninitializedCapacity: 24) { text in
            var place = 0
            func put(_ number: Int, _ digits: Int, _ end: StaticString) {
                var rest = number
                for digit in (place..<place + digits).reversed() {
                    text[digit] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                text[place + digits] = end.utf8Start[0]
                place += digits + 1
            }
            put(Int(parts.tm_year) + 1900, 4, "-")
            put(Int(parts.tm_mon) + 1, 2, "-")
            put(Int(parts.tm_mday), 2, "T")
            put(Int(parts.tm_hour), 2, ":")
            put(Int(parts.tm_min), 2, ":")
            put(Int(parts.tm_sec), 2, ".")
            put(Int(inRange(milliseconds) % 1_000), 3, "Z")
            return place
        }
    }

    /// For the name of a file, in UTC: `20261120-231639`.
    package static func compact(_ milliseconds: Int64) -> String {
        text(milliseconds, "%Y%m%d-%H%M%S", gmtime_r)
    }

    /// For people, in local time: `2026-11-20 23:16:39`.
    package static func local(_ milliseconds: Int64) -> String {
        text(milliseconds, "%Y-%m-%d %H:%M:%S", localtime_r)
    }

    /// Android's `threadtime`, in local time: `11-20 23:16:39.123`; in UTC it says so: `11-20 23:16:39.123 +0000`.
    package static func threadTime(
        _ milliseconds: Int64, isUTC: Bool = false, hasYear: Bool = false
    ) -> String {
        text(
            milliseconds, hasYear ? "%Y-%m-%d %H:%M:%S." : "%m-%d %H:%M:%S.",
            isUTC ? gmtime_r : localtime_r, hasFraction: true) + (isUTC ? " +0000" : "")
    }

    private typealias Split = (UnsafePointer<time_t>, UnsafeMutablePointer<tm>) -> UnsafeMutablePointer<tm>?

    private static func inRange(_ milliseconds: Int64) -> Int64 {
        min(max(milliseconds, range.lowerBound), range.upperBound)
    }

    private static func split(_ milliseconds: Int64, _ split: Split) -> tm {
        var seconds = time_t(inRange(milliseconds) / 1_000)
        var parts = tm()
        _ = split(&seconds, &parts)
        return parts
    }

    private static func text(
        _ milliseconds: Int64, _ format: String, _ split: Split, hasFraction: Bool = false
    ) -> String {
        let time = inRange(milliseconds)
        var parts = self.split(milliseconds, split)
        return String(unsafeUninitializedCapacity: 32) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let start = buffer.baseAddress else { return 0 }
                let length = strftime(start, buffer.count, format, &parts)
                guard hasFraction, length + 3 < buffer.count else { return length }
                buffer[length] = CChar(48 + time / 100 % 10)
                buffer[length + 1] = CChar(48 + time / 10 % 10)
                buffer[length + 2] = CChar(48 + time % 10)
                return length + 3
            }
        }
    }
}

extension Identifier {
    /// An id of this moment, for a command or a document.
    package static func ulid() -> String { ulid(at: WallClock.now()) }
}
