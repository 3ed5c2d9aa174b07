/// Delays with full jitter: random between nothing and an upper end that doubles.
///
/// Full jitter spreads a thousand agents whose broker restarts better than a fixed delay with a little noise.
struct Backoff: Sendable {
    let first: Duration
    let longest: Duration

    /// The upper end after so many failed rounds.
    func ceiling(afterRounds rounds: Int) -> Duration {
        var ceiling = min(first, longest)
        // 40 doublings of anything are beyond any limit; the loop must end anyway.
        for _ in 0..<min(max(rounds, 0), 40) where ceiling < longest { ceiling *= 2 }
        return min(ceiling, longest)
    }

    func delay(afterRounds rounds: Int, random: inout some RandomNumberGenerator) -> Duration {
        Self.uniform(.zero, ceiling(afterRounds: rounds), random: &random)
    }

    /// A duration between two others.
    static func uniform(_ low: Duration, _ high: Duration, random: inout some RandomNumberGenerator)
        -> Duration
    {
        // 53 bits of chance; Double.random may draw more than once and would make seeded runs differ.
        let fraction = Double(random.next() >> 11) * 0x1p-53
        return low + (high - low) * fraction
    }
}
