internal import CPathScan

/// Where the components of a path end, as bits by their place in the text.
protocol PathEnds {
    /// The ends in what lies from `start` to `end`; nil when it does not fit, has a `%` or an empty component.
    init?(_ text: UnsafePointer<UInt8>, limit: Int, from start: Int, to end: Int)
    var count: Int { get }
    /// The next end; there must be one.
    mutating func next() -> Int
    /// All of them, for ``LongPathEnds``.
    var bits: SIMD2<UInt64> { get }
}

/// For paths that end before byte 64.
struct ShortPathEnds: PathEnds {
    private var low: UInt64

    @inline(__always)
    init?(_ text: UnsafePointer<UInt8>, limit: Int, from start: Int, to end: Int) {
        self.init(waypost_scan_path(text, 0, end, limit), from: start, to: end)
    }

    /// The same for a text whose slashes are known, and that has no `%` there.
    @inline(__always)
    init?(slashes: UInt64, from start: Int, to end: Int) {
        self.init(waypost_marks(slashes: slashes, others: 0), from: start, to: end)
    }

    @inline(__always)
    private init?(_ marks: waypost_marks, from start: Int, to end: Int) {
        let last: UInt64 = 1 &<< UInt64(truncatingIfNeeded: end)
        let inside = (last &- 1) & (.max &<< UInt64(truncatingIfNeeded: start))
        low = marks.slashes & inside | last
        let begins = low &<< 1 | 1 &<< UInt64(truncatingIfNeeded: start)
        if marks.others & inside | low & begins != 0 { return nil }
    }

    @inline(__always) var bits: SIMD2<UInt64> { SIMD2(low, 0) }

    /// Counted one by one: they are few, and not every processor counts bits.
    @inline(__always) var count: Int {
        var left = low
        var count = 0
        repeat {
            left &= left &- 1
            count &+= 1
        } while left != 0
        return count
    }

    @inline(__always)
    mutating func next() -> Int {
        let end = low.trailingZeroBitCount
        low &= low &- 1
        return end
    }
}

/// For paths that begin before byte 64 and end before byte 128.
struct LongPathEnds: PathEnds {
    private var low: UInt64
    private var high: UInt64

    init(bits: SIMD2<UInt64>) {
        low = bits[0]
        high = bits[1]
    }

    @inline(__always)
    init?(_ text: UnsafePointer<UInt8>, limit: Int, from start: Int, to end: Int) {
        guard start < 64, end >= 64, end < 128 else { return nil }
        let front = waypost_scan_path(text, 0, end, limit), back = waypost_scan_path(text, 64, end, limit)
        let last: UInt64 = 1 &<< UInt64(truncatingIfNeeded: end &- 64)
        let inside: UInt64 = .max &<< UInt64(truncatingIfNeeded: start)
        low = front.slashes & inside
        high = back.slashes & (last &- 1) | last
        let begins = low &<< 1 | 1 &<< UInt64(truncatingIfNeeded: start)
        let empty = low & begins | high & (high &<< 1 | low &>> 63)
        if front.others & inside | back.others & (last &- 1) | empty != 0 { return nil }
    }

    @inline(__always) var count: Int { low.nonzeroBitCount &+ high.nonzeroBitCount }
    @inline(__always) var bits: SIMD2<UInt64> { SIMD2(low, high) }

    @inline(__always)
    mutating func next() -> Int {
        if low != 0 {
            let end = low.trailingZeroBitCount
            low &= low &- 1
            return end
        }
        let end = high.trailingZeroBitCount
        high &= high &- 1
        return end &+ 64
    }
}
