import Threading

/// How far the clock of an agent is from this machine's.
package struct ClockOffset {
    /// In milliseconds; positive when the agent's is ahead.
    private let offset: Int64
    private let trip: Int64

    /// Nil when the reply has no possible time.
    ///
    /// - Parameters:
    ///   - now: when it was asked, by this machine's clock, in milliseconds since 1970.
    ///   - trip: from the question to the reply, in milliseconds.
    package init?(of reply: Reply, asked now: Int64, trip: Int64) {
        let (offset, overflow) = reply.at.subtractingReportingOverflow(now + trip / 2)
        guard !overflow else { return nil }
        self.offset = offset
        self.trip = trip
    }

    /// How far the clock of the agent that just replied is ahead, in milliseconds, where it is known to be wrong; else 0.
    ///
    /// - Parameter roundTrip: how long the reply took: within that time it may have been written at any moment.
    package static func error(
        of reply: Reply, roundTrip: Int64 = 0, now: Int64 = WallClock.now()
    ) -> Int64 {
        guard let offset = ClockOffset(of: reply, asked: now - roundTrip, trip: roundTrip),
            offset.isTooLarge
        else { return 0 }
        return offset.offset
    }

    /// What is said once where times of an agent are shown as they would be if its clock were right.
    package static func notice(_ agent: String, error: Int64) -> String {
        "the clock of \(agent) is \(TimeText.difference(error)) \(error > 0 ? "ahead" : "behind"); its times are shown by this machine's"
    }

    /// Whether someone should look at it.
    package var isLarge: Bool { offset.magnitude >= 5_000 }
    /// An agent refuses a command of such a sender with CLOCK_SKEW, when it is the agent that is behind.
    package var isTooLarge: Bool { offset.magnitude >= 30_000 + trip.magnitude / 2 }

    package func text(of agent: String) -> String {
        let size =
            offset.magnitude < 10_000
            ? "\(offset.magnitude) ms, ± \(trip / 2) ms," : TimeText.difference(offset)
        return "the clock of \(agent) is \(size) \(offset >= 0 ? "ahead of" : "behind") this machine's"
    }
}
