import WaypostMessages

/// The numbers of the events that were shown, so that a replay, whoever asked for it, shows none a second time.
struct EventDeduplicator: Sendable {
    /// More than an agent keeps for a replay.
    private static let span: Int64 = 4_096

    private struct Seen {
        var boot: String
        var newest: Int64
        var sequences: Set<Int64>
    }

    private var seen: [String: Seen] = [:]

    /// Whether the event is new; it is known from now on.
    mutating func isNew(_ event: LogEvent, from agent: String) -> Bool {
        // An event without a number can't be told from another.
        guard event.sequence > 0 else { return true }
        guard var known = seen[agent], known.boot == event.boot else {
            seen[agent] = Seen(boot: event.boot, newest: event.sequence, sequences: [event.sequence])
            return true
        }
        guard event.sequence > known.newest - Self.span,
            known.sequences.insert(event.sequence).inserted
        else { return false }
        known.newest = max(known.newest, event.sequence)
        if known.sequences.count > 2 * Int(Self.span) {
            let oldest = known.newest - Self.span
            known.sequences = known.sequences.filter { $0 > oldest }
        }
        seen[agent] = known
        return true
    }
}
