/// How much each sender may still send; remembers a bounded number of senders.
struct SenderLimits: Sendable {
    private static let maximumSenders = 1_000

    private let rate: Int
    private let burst: Int
    private var buckets: [String: TokenBucket] = [:]

    init(rate: Int, burst: Int) {
        self.rate = rate
        self.burst = burst
    }

    /// Whether one more command of `sender` may come in.
    mutating func admits(_ sender: String, at now: Int64) -> Bool {
        guard rate > 0 else { return true }
        if buckets[sender] == nil, buckets.count >= Self.maximumSenders { forgetIdle(at: now) }
        // Strangers beyond the bound share one bucket rather than grow the table.
        let key = buckets[sender] == nil && buckets.count >= Self.maximumSenders ? "" : sender
        return buckets[key, default: TokenBucket(rate: rate, burst: burst, at: now)].take(at: now)
    }

    private mutating func forgetIdle(at now: Int64) {
        for sender in buckets.keys where buckets[sender]?.isFull(at: now) == true {
            buckets[sender] = nil
        }
    }
}
