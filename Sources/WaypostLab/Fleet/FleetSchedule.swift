/// What the agents of a fleet do by themselves and when, the next first: a heap.
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

    struct Entry: Sendable {
        /// In milliseconds since 1970.
        var due: Int64
        /// The agent; -1 for what the whole fleet does.
        var agent: Int32
        var event: Event

        /// One order for all, so that the same fleet always does the same.
        func isBefore(_ other: Entry) -> Bool {
            (due, agent, event.rawValue) < (other.due, other.agent, other.event.rawValue)
        }
    }

    private var heap: [Entry] = []

    mutating func add(_ event: Event, of agent: Int, at due: Int64) {
        heap.append(Entry(due: due, agent: Int32(agent), event: event))
        var place = heap.count - 1
        while place > 0, heap[place].isBefore(heap[(place - 1) / 2]) {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    /// The next one, when its time has come.
    mutating func takeDue(at now: Int64) -> Entry? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
                if heap[child].isBefore(heap[least]) { least = child }
            }
            guard least != place else { return first }
            heap.swapAt(place, least)
            place = least
        }
    }
}
