extension LogEvent {
    /// The line in Android's `threadtime` form, in the local time zone:
    /// `11-20 23:16:39.123    71    72 I Router  : opened scheme://router/demo1`.
    ///
    /// What no process wrote, such as a failure report or that an agent came, has `-` in the place of the numbers.
    /// - Parameters:
    ///   - isUTC: whether the time is that of UTC.
    ///   - hasYear: whether it begins with the year: `2026-11-20 23:16:39.123`.
    package func threadTime(isUTC: Bool = false, hasYear: Bool = false) -> String {
        let time = Timestamp.threadTime(time, isUTC: isUTC, hasYear: hasYear)
        return "\(time) \(Self.right(process, 5)) \(Self.right(thread, 5)) \(letter) "
            + "\(Self.left(tag, 8)): \(message)"
    }

    /// The line in Android's `brief` form: `I/Router  (   71): opened scheme://router/demo1`.
    package var brief: String {
        "\(letter)/\(Self.left(tag, 8))(\(Self.right(process, 5))): \(message)"
    }

    private static func right(_ number: Int64, _ width: Int) -> String {
        let text = number == 0 ? "-" : String(number)
        return String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
