/// Which parts at the end of a pattern may be absent, as in `/orders/:id(/edit(/:page))`.
///
/// A pattern with optional parts stands for several: with none of them, with the first, with the first two and so on.
package struct OptionalParts: Sendable, Hashable, BitwiseCopyable {
    /// The most optional parts.
    static let maximum = 4

    /// How many pieces stand before each part, the outermost in the lowest byte; 0 for none.
    private(set) var bits: UInt32 = 0
    private var count: Int { (32 - bits.leadingZeroBitCount + 7) / 8 }

    var areNone: Bool { bits == 0 }

    /// Adds a part behind so many pieces, at most ``RoutePattern/maximumComponents``; false when there are too many.
    mutating func add(behind pieces: Int) -> Bool {
        let place = count
        guard place < Self.maximum else { return false }
        bits |= UInt32(UInt8(truncatingIfNeeded: pieces)) << UInt32(8 * place)
        return true
    }

    /// How many pieces stand before each part, the outermost first.
    var pieces: [Int] { (0..<count).map { Int(bits >> UInt32(8 * $0) & 0xff) } }
}

extension RoutePattern {
    /// The patterns that this one stands for, the longest first; only itself without optional parts.
    ///
    /// They all have its text, and the shorter ones fewer pieces.
    package var rows: [RoutePattern] {
        optional.areNone ? [self] : [self] + optional.pieces.reversed().map { RoutePattern(self, pieces: $0) }
    }

    /// The names of the placeholders in optional parts, which a URL of this pattern may not give.
    var optionalNames: [String] {
        guard let shortest = optional.pieces.first else { return [] }
        return segments.dropFirst(shortest + (base == nil ? 0 : 1)).flatMap(\.names)
    }
}
