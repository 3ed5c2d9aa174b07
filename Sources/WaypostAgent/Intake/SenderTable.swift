/// What is kept of each sender: how much it may still send, the newest `seq`, and what it was warned of.
///
/// For a limited number of senders: beyond it those that were silent longest are forgotten.
struct SenderTable: Sendable {
    /// What becomes of a message, decided before anything of it is read.
    enum Admission: Sendable {
        /// It is within its sender's rate.
        case within
        /// It is over the rate: it is only looked up, so that a known id is answered. As many as within the rate.
        case lookedUp
        /// It is acknowledged and not read.
        case unread
    }

    /// What is said once to a sender, and not with each of its messages.
    struct Warnings: OptionSet, Sendable {
        let rawValue: UInt8
        static let responseTopic = Warnings(rawValue: 1)
        static let correlation = Warnings(rawValue: 2)
    }

    private struct Sender {
        var bucket: TokenBucket
        /// For what is over the rate.
        var lookups: TokenBucket
        var sequence: Int64?
        var warned: Warnings = []
        var lastSeen: UInt64

        init(rate: Int, burst: Int, at now: Int64, lastSeen: UInt64) {
            bucket = TokenBucket(rate: rate, burst: burst, at: now)
            lookups = bucket
            self.lastSeen = lastSeen
        }
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
        let bucket = TokenBucket(rate: rate, burst: burst, at: now)
        for name in senders.keys {
            senders[name]?.bucket = bucket
            senders[name]?.lookups = bucket
        }
    }

    /// Counts a message of `sender`.
    mutating func admit(_ sender: String, at now: Int64) -> Admission {
        guard rate > 0 else { return .within }
        return use(sender, at: now) { known in
            known.bucket.take(at: now) ? .within : known.lookups.take(at: now) ? .lookedUp : .unread
        }
    }

    /// A message of `sender` could not be stored, and the broker sends it again: it does not count.
    mutating func refund(_ sender: String, _ admission: Admission) {
        switch admission {
        case .within: senders[sender]?.bucket.refund()
        case .lookedUp: senders[sender]?.lookups.refund()
        case .unread: break
        }
    }

    /// Remembers that `sender` was warned of this; false when it was warned before.
    mutating func noteWarning(_ warning: Warnings, of sender: String, at now: Int64) -> Bool {
        use(sender, at: now) { $0.warned.insert(warning).inserted }
    }

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
        defer { assert(senders.count <= maximum) }
        uses += 1
        if senders[name] == nil, senders.count >= maximum { forgetSilent() }
        var sender = senders[name] ?? Sender(rate: rate, burst: burst, at: now, lastSeen: uses)
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
