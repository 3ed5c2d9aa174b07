import WaypostMessages

/// When something is published again because one lacks it, such as an agent the map that goes to all others, too: at
/// once, and then 5, 10, 20, … s after the last time, so that one that always says so is no load for them.
package struct RepeatedWishes: Sendable {
    /// In milliseconds.
    private static let pauses: ClosedRange<Int64> = 5_000...86_400_000

    private var granted: [String: (at: Int64, pause: Int64)] = [:]

    package init() {}

    /// The time at which the wish is granted: now, or later; the same for all wishes until then.
    ///
    /// - Parameter now: a clock that only goes forward, in milliseconds.
    package mutating func time(of agent: String, at now: Int64) -> Int64 {
        guard let (at, pause) = granted[agent] else {
            granted[agent] = (now, Self.pauses.lowerBound)
            return now
        }
        guard at <= now else { return at }
        let time = max(now, at.adding(clamping: pause))
        // One that was content for long begins anew.
        let isRare = now.subtracting(clamping: at) >= 10 * pause
        granted[agent] = (time, isRare ? pause : min(2 * pause, Self.pauses.upperBound))
        return time
    }
}
