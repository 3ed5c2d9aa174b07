/// Which of the past lines are shown.
package struct LogHistoryRange: Sendable, Hashable {
    /// Nil for all that the agents still have.
    package var start: LogStart?
    /// Only so many, the newest.
    package var last: Int?

    package static let everything = LogHistoryRange()

    package init(start: LogStart? = nil, last: Int? = nil) {
        self.start = start
        self.last = last
    }

    /// As `-t` and `-T` of adb have it: a number of lines, or a time; from ten digits on a number is a time.
    ///
    /// - Throws: ``TimeFault`` when it is neither.
    package init(_ text: String) throws(TimeFault) {
        if let count = Int(text), count < 1_000_000_000 {
            guard count > 0 else { throw TimeFault(description: "the number of lines must be 1 or more") }
            last = count
        } else {
            start = try LogStart(text)
        }
    }
}
