/// The times in which the console did not hear the fleet: what happened then is not known.
struct WatchGaps: Sendable {
    /// A chart has the last hour; a connection that is lost more often is hardly one.
    private static let maximum = 120

    private var past: [Range<Int64>] = []
    private var begin: Int64?

    mutating func begin(at now: Int64) { begin = begin ?? now }

    mutating func end(at now: Int64) {
        guard let begin else { return }
        self.begin = nil
        guard begin < now else { return }
        if past.count >= Self.maximum { past.removeFirst() }
        past.append(begin..<now)
    }

    /// Whether a whole minute, as far as it has passed, lies in one of them.
    func contains(_ minute: Int64, now: Int64) -> Bool {
        let (first, end) = (minute * 60_000, min(minute * 60_000 + 60_000, now))
        return past.contains { $0.lowerBound <= first && end <= $0.upperBound }
            || begin.map { $0 <= first } ?? false
    }
}
