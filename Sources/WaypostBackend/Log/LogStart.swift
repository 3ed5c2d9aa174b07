import Threading
import Waypost
package import WaypostMessages

/// Where the log begins: so long ago, at a time, or at an instant of this process.
package enum LogStart: Sendable, Hashable, CustomStringConvertible {
    case span(TimeSpan)
    /// In milliseconds since 1970.
    case time(Int64)
    /// It stays where it is, however long an agent takes to be asked and to answer.
    case instant(ContinuousClock.Instant)

    /// In milliseconds since 1970.
    func milliseconds(before now: Int64 = WallClock.now()) -> Int64 {
        switch self {
        case .span(let span): max(0, now - span.milliseconds)
        case .instant(let instant): max(0, now - Self.age(of: instant))
        case .time(let time): time
        }
    }

    /// The same by the clock of an agent that just replied: a span is counted back on it, and a time is moved to where it
    /// was on it, if it is known to be wrong.
    func milliseconds(byClockOf reply: Reply) -> Int64 {
        switch self {
        case .span(let span): reply.at.subtracting(clamping: span.milliseconds)
        case .instant(let instant): reply.at.subtracting(clamping: Self.age(of: instant))
        case .time(let time): time.adding(clamping: ClockOffset.error(of: reply))
        }
    }

    private static func age(of instant: ContinuousClock.Instant) -> Int64 {
        (MonotonicTime.instant - instant).milliseconds
    }

    /// For a sentence: `10 min`, `2026-11-22 18:40:00`.
    package var description: String {
        switch self {
        case .span(let span): span.description
        case .instant(let instant): TimeSpan(milliseconds: Self.age(of: instant)).description
        case .time(let time): Timestamp.local(time)
        }
    }
}

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
