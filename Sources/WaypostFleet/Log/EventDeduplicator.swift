package import WaypostMessages

/// Recognises events that were shown already, so that a replay shows none a second time, no matter who asked for it.
package struct EventDeduplicator: Sendable {
    /// The numbers that are remembered of an agent, back from its newest: more than an agent keeps for a replay.
    private static let span: Int64 = 4_096
    /// More than one broker serves; beyond it all are forgotten, and a replay may show events again.
    static let maximumAgents = 10_000

    private struct Seen {
        let boot: String
        private var newest: Int64 = 0
        /// A bit for each number, at its remainder by the span.
        private var bits = [UInt64](repeating: 0, count: Int(span) / 64)

        init(boot: String) { self.boot = boot }

        /// Whether the number is new; it is known from now on.
        mutating func insert(_ number: Int64) -> Bool {
            guard number > newest - span else { return false }
            // What the newest leaves behind makes place for what comes.
            if number - newest >= span {
                bits = [UInt64](repeating: 0, count: bits.count)
            } else {
                for skipped in stride(from: newest + 1, through: number, by: 1) { self[skipped] = false }
            }
            newest = max(newest, number)
            defer { self[number] = true }
            return !self[number]
        }

        private subscript(number: Int64) -> Bool {
            get { bits[Int(number % span) / 64] & mask(number) != 0 }
            set {
                if newValue {
                    bits[Int(number % span) / 64] |= mask(number)
                } else {
                    bits[Int(number % span) / 64] &= ~mask(number)
                }
            }
        }

        private func mask(_ number: Int64) -> UInt64 { 1 << UInt64(number % 64) }
    }

    private var seen: [String: Seen] = [:]

    package init() {}

    /// Remembers the event; false when it was known.
    package mutating func note(_ event: LogEvent, from agent: String) -> Bool {
        defer { assert(seen.count <= Self.maximumAgents) }
        // An event without a number can't be recognised.
        guard event.sequence > 0 else { return true }
        if seen[agent]?.boot != event.boot {
            if seen.count >= Self.maximumAgents { seen.removeAll() }
            seen[agent] = Seen(boot: event.boot)
        }
        return seen[agent]?.insert(event.sequence) ?? true
    }
}
