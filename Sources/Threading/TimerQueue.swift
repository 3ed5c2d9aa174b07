/// Calls by their time, the next one first.
package struct TimerQueue {
    package typealias Body = @Sendable () -> Void

    private struct Entry {
        var time: UInt64
        var number: UInt64
    }

    // A heap. Of a call that was taken back the entry stays until its time, or until there are too many of them.
    private var heap: [Entry] = []
    private var bodies: [UInt64: Body] = [:]
    private var last: UInt64 = 0

    package init() {}

    /// When the next call is due; `.max` when there is none.
    package var nextTime: UInt64 { heap.first?.time ?? .max }
    /// The calls that are still to come.
    package var count: Int { bodies.count }
    /// The entries in memory.
    package var entries: Int { heap.count }

    /// Whether each call has its entry, and the next one is in front.
    private var isConsistent: Bool {
        heap.count >= bodies.count && heap.dropFirst().prefix(2).allSatisfy { $0.time >= nextTime }
    }

    /// Adds a call; `wakes` is whether it comes before all others.
    package mutating func add(_ body: @escaping Body, at time: UInt64) -> (UInt64, wakes: Bool) {
        defer { assert(isConsistent) }
        let before = nextTime
        last += 1
        bodies[last] = body
        heap.append(Entry(time: time, number: last))
        rise(from: heap.count - 1)
        return (last, time < before)
    }

    package mutating func remove(_ number: UInt64) -> Body? {
        defer { assert(isConsistent) }
        let body = bodies.removeValue(forKey: number)
        if heap.count > 2 * bodies.count + 64 { removeDead() }
        return body
    }

    /// The calls whose time has come.
    package mutating func takeDue(at now: UInt64) -> [Body] {
        defer { assert(isConsistent) }
        var due: [Body] = []
        while let first = heap.first, first.time <= now {
            if let body = bodies.removeValue(forKey: first.number) { due.append(body) }
            removeFirst()
        }
        return due
    }

    private mutating func removeDead() {
        heap.removeAll { bodies[$0.number] == nil }
        // An array in order is a heap.
        heap.sort { $0.time < $1.time }
    }

    private mutating func rise(from start: Int) {
        var place = start
        while place > 0, heap[place].time < heap[(place - 1) / 2].time {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
                if heap[child].time < heap[least].time { least = child }
            }
            guard least != place else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
