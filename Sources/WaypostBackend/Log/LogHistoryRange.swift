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
}
