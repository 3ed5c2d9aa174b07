import Glibc

/// The time that a reader takes for an input of 64 KiB.
enum TimeBound {
    static let bytes = 64 << 10
    /// In nanoseconds, in a release build.
    static let limit: Int64 = 5_000_000

    /// The least of several runs, in nanoseconds, for another process may have emptied the caches.
    static func best(of runs: Int, _ body: () -> Void) -> Int64 {
        (0..<runs).map { _ in
            let began = processorTime()
            body()
            return processorTime() - began
        }.min() ?? 0
    }

    /// The time that this thread has computed, in nanoseconds: what others do beside it does not count.
    private static func processorTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// An input of 64 KiB: a piece of `input` is repeated where it stands, so that what is around it stays.
    ///
    /// - Parameter choice: which piece.
    static func stretched(_ input: [UInt8], _ choice: UInt64) -> [UInt8] {
        guard !input.isEmpty, input.count < bytes else { return input }
        let start = Int(choice % UInt64(input.count))
        let length = 1 + Int(choice >> 32 % UInt64(min(input.count - start, 12)))
        let piece = input[start..<start + length]
        let filling = repeated(piece, count: (bytes - input.count) / length)
        return Array(input[..<start]) + filling + input[start...]
    }

    /// The unit so many times.
    static func repeated(_ unit: some Collection<UInt8>, count: Int) -> [UInt8] {
        var result = Array(unit)
        let total = result.count * count
        // Doubled, which is quick without optimisation too.
        while result.count < total { result.append(contentsOf: result.prefix(total - result.count)) }
        return result
    }
}
