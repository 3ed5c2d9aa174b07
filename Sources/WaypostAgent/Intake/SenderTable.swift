/// What is kept of each sender: how much it may still send, and the newest `seq`.
///
/// For a limited number of senders: beyond it those that were silent longest are forgotten.
struct SenderTable: Sendable {
    private struct Sender {
        var bucket: TokenBucket
        var sequence: Int64?
        var lastSeen: UInt64
    }

    private let maximum: Int
    private var rate: Int
    private var burst: Int
    private var senders: [String: Sender] = [:]
    private var uses: UInt64 = 0

    init(maximum: Int, rate: Int, burst: Int) {
        self.maximum = max(1, maximum)
        self.rate = rate
        self.burst = burst
    }

    /// Sets other limits; all senders may send a whole burst again.
    mutating func setLimits(rate: Int, burst: Int, at now: Int64) {
        self.rate = rate
        self.burst = burst
        for name in senders.keys {
            senders[name]?.bucket = TokenBucket(rate: rate, burst: burst, at: now)
        }
    }

    /// Whether one more command of `sender` may come in.
    mutating func admits(_ sender: String, at now: Int64) -> Bool {
        guard rate > 0 else { return true }
        return use(sender, at: now) { $0.bucket.take(at: now) }
    }

    /// Commands of `sender` could not be stored, and the broker sends them again: they do not count.
    mutating func refund(_ sender: String) { senders[sender]?.bucket.refund() }

    /// Takes note of a sender's `seq`; returns the one before when some are missing in between.
    mutating func gap(before sequence: Int64, of sender: String, at now: Int64) -> Int64? {
        use(sender, at: now) { known in
            defer { known.sequence = sequence }
            guard let last = known.sequence, last == .max || sequence != last + 1 else { return nil }
            return last
        }
    }

    private mutating func use<Result>(
        _ name: String, at now: Int64, _ body: (inout Sender) -> Result
    ) -> Result {
        uses += 1
        if senders[name] == nil, senders.count >= maximum { forgetSilent() }
        var sender =
            senders[name]
            ?? Sender(bucket: TokenBucket(rate: rate, burst: burst, at: now), lastSeen: uses)
        sender.lastSeen = uses
        defer { senders[name] = sender }
        return body(&sender)
    }

    /// Forgets the quarter that was silent longest, so that the search for it is paid once for many.
    private mutating func forgetSilent() {
        let silent = senders.sorted { $0.value.lastSeen < $1.value.lastSeen }.prefix(max(1, maximum / 4))
        for (name, _) in silent { senders[name] = nil }
    }
}
