/// Calls by their time, the next one first.
package struct TimerQueue {
    package typealias Body = @Sendable () -> Void

    private struct Entry: Comparable {
        var time: UInt64
        var number: UInt64

        static func < (one: Entry, other: Entry) -> Bool { one.time < other.time }
    }

    // Of a call that was taken back the entry stays until its time, or until there are too many of them.
    private var heap = Heap<Entry>()
    private var bodies: [UInt64: Body] = [:]
    private var last: UInt64 = 0

    package init() {}

    /// When the next call is due; `.max` when there is none.
    package var nextTime: UInt64 { heap.first?.time ?? .max }
    /// The calls that are still to come.
    package var count: Int { bodies.count }
    /// The entries in memory.
    package var entries: Int { heap.count }

    /// Whether each call has its entry.
    private var isConsistent: Bool { heap.count >= bodies.count }

    /// Adds a call; `wakes` is whether it comes before all others.
    package mutating func add(_ body: @escaping Body, at time: UInt64) -> (UInt64, wakes: Bool) {
        defer { assert(isConsistent) }
        let before = nextTime
        last += 1
        bodies[last] = body
        heap.insert(Entry(time: time, number: last))
        return (last, time < before)
    }

    package mutating func remove(_ number: UInt64) -> Body? {
        defer { assert(isConsistent) }
        let body = bodies.removeValue(forKey: number)
        if heap.count > 2 * bodies.count + 64 { heap.removeAll { bodies[$0.number] == nil } }
        return body
    }

    /// The calls whose time has come.
    package mutating func takeDue(at now: UInt64) -> [Body] {
        defer { assert(isConsistent) }
        var due: [Body] = []
        while let first = heap.popFirst(where: { $0.time <= now }) {
            if let body = bodies.removeValue(forKey: first.number) { due.append(body) }
        }
        return due
    }
}
