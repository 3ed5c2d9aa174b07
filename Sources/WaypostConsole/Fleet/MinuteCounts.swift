import WaypostMessages

/// How often something happened in each of the last 60 minutes.
struct MinuteCounts: Sendable {
    static let minutes = 60

    private var counts = [UInt32](repeating: 0, count: minutes)
    /// The minute since 1970 of the newest count.
    private var newest: Int64 = 0

    mutating func add(_ number: Int64, at time: Int64) { add(number, minute: time / 60_000) }

    /// Adds what happened between two times, the same in each minute, for nothing more is known of it.
    mutating func add(_ number: Int64, from first: Int64, through last: Int64) {
        let (begin, end) = (first / 60_000, last / 60_000)
        let minutes = max(1, end - begin + 1)
        let share = max(0, number) / minutes
        if share > 0, begin < end {
            for minute in max(begin, end - Int64(Self.minutes) + 1)..<end { add(share, minute: minute) }
        }
        add(max(0, number) - share * (minutes - 1), minute: end)
    }

    private mutating func add(_ number: Int64, minute: Int64) {
        if minute > newest {
            let skipped = min(minute - newest, Int64(Self.minutes))
            for step in 0..<skipped { counts[slot(minute - step)] = 0 }
            newest = minute
        }
        guard newest - minute < Int64(Self.minutes) else { return }
        let index = slot(minute)
        counts[index] = counts[index].adding(clamping: UInt32(clamping: max(0, number)))
    }

    /// One number a minute, that of now last.
    func values(at time: Int64) -> [Int64] {
        let now = time / 60_000
        return (0..<Int64(Self.minutes)).reversed().map { back in
            let minute = now - back
            return minute > newest || newest - minute >= Int64(Self.minutes) ? 0 : Int64(counts[slot(minute)])
        }
    }

    private func slot(_ minute: Int64) -> Int {
        let rest = Int(minute % Int64(Self.minutes))
        return rest < 0 ? rest + Self.minutes : rest
    }
}
