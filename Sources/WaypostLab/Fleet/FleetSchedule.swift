import Threading

/// What the agents of a fleet do by themselves and when, the next first.
struct FleetSchedule: Sendable {
    enum Event: UInt8, Sendable {
        case health, lost, returned, line, failure
        /// A line of an agent that was asked for more.
        case askedLine
        /// What is reported of a roll-out after a while, and what was counted in it.
        case report, counts
        /// An open of a URL that a roll-out is about, of some agent.
        case traffic
    }

    struct Entry: Comparable, Sendable {
        /// In milliseconds since 1970.
        var due: Int64
        /// The agent; -1 for what the whole fleet does.
        var agent: Int32
        var event: Event

        /// One order for all, so that the same fleet always does the same.
        static func < (one: Entry, other: Entry) -> Bool {
            (one.due, one.agent, one.event.rawValue) < (other.due, other.agent, other.event.rawValue)
        }
    }

    private var heap = Heap<Entry>()

    mutating func add(_ event: Event, of agent: Int, at due: Int64) {
        heap.insert(Entry(due: due, agent: Int32(agent), event: event))
    }

    /// The next one, when its time has come.
    mutating func takeDue(at now: Int64) -> Entry? { heap.popFirst { $0.due <= now } }
}
