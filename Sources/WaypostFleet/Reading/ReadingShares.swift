package import WaypostMessages

/// How much is read of each agent, by whoever reads all of them: one that floods costs the others nothing, and itself what
/// it says.
///
/// A message counts as one for each 16 KiB that were begun. An agent that catches up after an outage sends hundreds; one
/// that logs as much as it can, some tens a second. Its states have a share of their own: that a flood ends is read.
package struct ReadingShares: Sendable {
    /// How many are read in a second for long, and how many at once.
    private static let rate: Int64 = 100
    private static let burst: Int64 = 1_000
    private static let bytesOfOne = 16_384
    /// More agents are not on one broker; beyond, each begins anew.
    private static let maximumAgents = 100_000
    /// How often it is said of one agent that it was too much, in milliseconds.
    private static let pauseOfNews: Int64 = 60_000

    private struct Key: Hashable {
        var agent: String
        var isState: Bool
    }

    private struct Share: Sendable {
        /// In thousandths, so that a millisecond's share is a whole number.
        var left = burst * 1_000
        var filled: Int64
        /// When it was said last that something was not read.
        var said: Int64?
    }

    private var shares: [Key: Share] = [:]

    package init() {}

    /// What is to be done with a message.
    package enum Verdict: Sendable, Hashable {
        case read
        case passOver
        /// The same, and it is time to say so.
        case sayAndPassOver
    }

    /// - Parameter now: in milliseconds; where the clock is set back, time stands still.
    package mutating func take(
        _ bytes: Int, _ content: OutboundTopic, of agent: String, at now: Int64
    ) -> Verdict {
        let key = Key(agent: agent, isState: content == .state)
        if shares[key] == nil, shares.count >= 2 * Self.maximumAgents { shares.removeAll() }
        var share = shares[key] ?? Share(filled: now)
        defer { shares[key] = share }
        let time = min(max(0, now.subtracting(clamping: share.filled)), 3_600_000)
        share.filled = now
        share.left = min(Self.burst * 1_000, share.left + time * Self.rate)
        let cost = Int64(1 + bytes / Self.bytesOfOne) * 1_000
        guard share.left < cost else {
            share.left -= cost
            return .read
        }
        guard share.said.map({ now.subtracting(clamping: $0) >= Self.pauseOfNews }) ?? true else {
            return .passOver
        }
        share.said = now
        return .sayAndPassOver
    }

    /// Whether an agent has sent more than is read of one.
    func isExceeded(by agent: String) -> Bool {
        [true, false].contains { shares[Key(agent: agent, isState: $0)]?.said != nil }
    }
}
