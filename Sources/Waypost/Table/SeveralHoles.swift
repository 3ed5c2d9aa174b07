internal import CPathScan

/// Finds what several placeholders of one component take, from left to right.
///
/// Each takes at least one byte, and then up to the first place where the literal behind it stands; the last takes what is
/// left. No choice is ever taken back, so this takes time in proportion to the component's length.
struct SeveralHoles {
    private let text: UnsafeBufferPointer<UInt8>
    private var start: Int
    private let end: Int

    /// For a component that begins and ends with literals of these lengths.
    init(_ text: UnsafeBufferPointer<UInt8>, prefix: Int, suffix: Int) {
        self.text = text
        start = prefix
        end = text.count &- suffix
    }

    /// What the next placeholder takes, behind which this literal stands; nil when it doesn't.
    mutating func next(before literal: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        guard let base = text.baseAddress, let wanted = literal.baseAddress, start &+ 1 < end else {
            return nil
        }
        let found = waypost_find(base + (start &+ 1), end &- start &- 1, wanted, literal.count)
        guard found < end &- start &- 1 else { return nil }
        let hole = start..<start &+ 1 &+ found
        start = hole.upperBound &+ literal.count
        return hole
    }

    /// What the last placeholder takes; nil when nothing is left.
    var last: Range<Int>? { start < end ? start..<end : nil }
}
