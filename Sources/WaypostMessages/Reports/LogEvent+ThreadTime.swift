import Glibc

extension LogEvent {
    /// The line in Android's `threadtime` form, in the local time zone:
    /// `11-20 23:16:39.123    71    72 I Router  : opened scheme://router/demo1`.
    package var threadTime: String {
        "\(Self.clock(time)) \(Self.right(process, 5)) \(Self.right(thread, 5)) \(level.letter) "
            + "\(Self.left(tag, 8)): \(message)"
    }

    /// The line in Android's `brief` form: `I/Router  (   71): opened scheme://router/demo1`.
    package var brief: String {
        "\(level.letter)/\(Self.left(tag, 8))(\(Self.right(process, 5))): \(message)"
    }

    private static func clock(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        let date = "\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
        let fraction = right(milliseconds % 1000, 3, with: "0")
        return "\(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)"
    }

    private static func two(_ number: Int32) -> String { right(Int64(number), 2, with: "0") }

    private static func right(_ number: Int64, _ width: Int, with pad: Character = " ") -> String {
        let text = String(number)
        return String(repeating: pad, count: max(0, width - text.utf8.count)) + text
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
