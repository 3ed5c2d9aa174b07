/// How often something happened in each of the last 60 minutes.
struct MinuteCounts: Sendable {
    static let minutes = 60

    private var counts = [UInt32](repeating: 0, count: minutes)
    /// The minute since 1970 of the newest count.
    private var newest: Int64 = 0

    mutating func add(_ number: Int64, at time: Int64) {
        let minute = time / 60_000
        if minute > newest {
            let skipped = min(minute - newest, Int64(Self.minutes))
            for step in 0..<skipped { counts[slot(minute - step)] = 0 }
            newest = minute
        }
        guard newest - minute < Int64(Self.minutes) else { return }
        let index = slot(minute)
        counts[index] = UInt32(clamping: Int64(counts[index]) + max(0, number))
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
