import Threading
import Waypost
import WaypostMessages

/// Where the log begins: so long ago, or at a time.
public struct LogStart: Sendable, Hashable, CustomStringConvertible {
    private enum Place: Hashable {
        case span(TimeSpan)
        case time(Int64)
        case instant(ContinuousClock.Instant)
    }

    private let place: Place

    private init(_ place: Place) { self.place = place }

    /// So long ago, counted back on the clock of each agent.
    public static func ago(_ duration: Duration) -> LogStart {
        LogStart(.span(TimeSpan(milliseconds: max(0, duration.milliseconds))))
    }

    /// A time, in milliseconds since 1970.
    public static func time(_ milliseconds: Int64) -> LogStart { LogStart(.time(milliseconds)) }

    /// An instant of this process: it stays where it is, however long an agent takes to be asked and to answer.
    static func instant(_ instant: ContinuousClock.Instant) -> LogStart { LogStart(.instant(instant)) }

    /// In milliseconds since 1970.
    func milliseconds(before now: Int64 = WallClock.now()) -> Int64 {
        switch place {
        case .span(let span): max(0, now - span.milliseconds)
        case .instant(let instant): max(0, now - Self.age(of: instant))
        case .time(let time): time
        }
    }

    /// The same by the clock of an agent that just replied: a span is counted back on it, and a time is moved to where it
    /// was on it, if it is known to be wrong.
    func milliseconds(byClockOf reply: Reply) -> Int64 {
        switch place {
        case .span(let span): reply.at.subtracting(clamping: span.milliseconds)
        case .instant(let instant): reply.at.subtracting(clamping: Self.age(of: instant))
        case .time(let time): time.adding(clamping: ClockOffset.error(of: reply))
        }
    }

    private static func age(of instant: ContinuousClock.Instant) -> Int64 {
        (MonotonicTime.instant - instant).milliseconds
    }

    /// For a sentence: `10 min`, `2026-11-22 18:40:00`.
    public var description: String {
        switch place {
        case .span(let span): span.description
        case .instant(let instant): TimeSpan(milliseconds: Self.age(of: instant)).description
        case .time(let time): Timestamp.local(time)
        }
    }
}
