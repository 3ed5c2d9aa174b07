/// How often each latency occurred, in 64 steps per power of two: a quantile is off by 1.6 % at most, and a run of
/// any length takes the same memory.
package struct LatencyHistogram: Sendable {
    private static let bits = 6
    private static let steps = 1 << bits

    private var counts = [Int](repeating: 0, count: (64 - bits + 1) * steps)
    private(set) var count = 0
    /// The longest, in microseconds.
    package private(set) var maximum: Int64 = 0

    /// Counts a latency in microseconds; a negative one counts as 0.
    mutating func record(_ microseconds: Int64) {
        let value = max(0, microseconds)
        counts[Self.bucket(of: UInt64(value))] += 1
        count += 1
        maximum = max(maximum, value)
    }

    /// The latency in microseconds that the share `share` of all, 0 to 1, did not exceed; 0 when there is none.
    package func quantile(_ share: Double) -> Int64 {
        let rank = max(1, Int((Double(count) * min(max(share, 0), 1)).rounded(.up)))
        var seen = 0
        for (bucket, count) in counts.enumerated() {
            seen += count
            if seen >= rank { return min(Self.highest(in: bucket), maximum) }
        }
        return maximum
    }

    /// Small values have a bucket each; beyond, the leading bits say which.
    private static func bucket(of value: UInt64) -> Int {
        let width = 64 - value.leadingZeroBitCount
        guard width > bits + 1 else { return Int(value) }
        let shift = width - bits - 1
        return shift * steps + Int(value >> UInt64(shift))
    }

    private static func highest(in bucket: Int) -> Int64 {
        guard bucket >= 2 * steps else { return Int64(bucket) }
        let shift = bucket / steps - 1
        let lead = UInt64(bucket - shift * steps)
        return Int64(clamping: ((lead + 1) << UInt64(shift)) &- 1)
    }
}
