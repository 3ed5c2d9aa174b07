/// When a command that waits for its time may begin, and what its agent's clock may have shown since it was sent.
///
/// In milliseconds since 1970.
struct SentTimes: Codable {
    /// The first one after it was sent.
    struct Window: Codable {
        let opens: Int64
        let closes: Int64
    }

    /// Not before this.
    let after: Int64
    /// Nil without one.
    let window: Window?
    let expires: Int64
    /// How much the clock has been off since it was sent, at most and at least.
    private var (most, least): (Int64, Int64)
    /// The latest that the clock has shown before it was set.
    private var shown = Int64.min
    /// Whether a start may have waited for the disk.
    private(set) var hasWaited = false

    init(after: Int64, window: Window? = nil, expires: Int64, clockError: Int64) {
        (self.after, self.window, self.expires) = (after, window, expires)
        (most, least) = (clockError, clockError)
    }

    /// Somebody sets the clock.
    ///
    /// - Parameters:
    ///   - wall: What it showed.
    ///   - error: How much it is off from now on.
    mutating func clockIsSet(at wall: Int64, to error: Int64) {
        shown = max(shown, wall)
        (most, least) = (max(most, error), min(least, error))
    }

    mutating func diskFails() { hasWaited = true }

    /// Why it may not begin now; nil when it may.
    ///
    /// - Parameters:
    ///   - wall: What the agent's clock shows.
    ///   - error: How much that is off.
    func fault(at wall: Int64, _ error: Int64) -> String? {
        let begins = window.map { max($0.opens, after) } ?? after
        let latest = max(shown, wall)
        guard latest >= begins else { return "begins at \(latest), and not before \(begins)" }
        // Its turn is by the clock that goes evenly from where it was seen.
        let earliest = wall - error + least
        guard let window, !hasWaited, earliest > window.closes + 10_000 else { return nil }
        return "begins at \(earliest), and its window closed at \(window.closes)"
    }

    /// Whether it may have expired, by any of the clocks that there were.
    ///
    /// Its window does not open a second time.
    func mayHaveExpired(at wall: Int64, _ error: Int64) -> Bool {
        wall - error + most >= min(expires, window?.closes ?? expires)
    }
}
