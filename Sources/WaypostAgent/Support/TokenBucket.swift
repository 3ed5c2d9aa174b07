/// Allows `rate` a second for long and `burst` at once.
struct TokenBucket: Sendable {
    private let rate: Int
    private let burst: Int
    // In thousandths of a token, so that a millisecond's share is a whole number.
    private var level: Int64
    private var filled: Int64

    /// - Parameter now: a clock that only goes forward, in milliseconds.
    init(rate: Int, burst: Int, at now: Int64) {
        self.rate = rate
        self.burst = max(1, burst)
        level = Int64(self.burst) * 1000
        filled = now
    }

    /// Whether there are no more tokens than may be taken at once.
    private var isConsistent: Bool { level <= Int64(burst) * 1000 }

    /// Takes one token; false when there is none.
    mutating func take(at now: Int64) -> Bool {
        defer { assert(isConsistent) }
        guard rate > 0 else { return true }
        fill(at: now)
        guard level >= 1000 else { return false }
        level -= 1000
        return true
    }

    /// Puts back a token that was taken for nothing.
    mutating func refund() {
        defer { assert(isConsistent) }
        level = min(Int64(burst) * 1000, level + 1000)
    }

    /// Takes so many tokens, whether they are there or not; none is given until they have come again.
    mutating func owe(_ tokens: Int) {
        defer { assert(isConsistent) }
        level -= Int64(tokens) * 1000
    }

    private mutating func fill(at now: Int64) {
        let elapsed = min(max(0, now - filled), 3_600_000)
        filled = now
        level = min(Int64(burst) * 1000, level + elapsed * Int64(rate))
    }
}
