/// A text as a key of the tables: its first eight and last eight bytes; of one of up to eight bytes, no first ones.
struct TextKey: BitwiseCopyable, Equatable {
    let first: UInt64
    let last: UInt64
    let start: UnsafePointer<UInt8>
    let length: Int

    /// The words of the bytes from `start` to `end`, of a text of which the first eight may be read.
    @inline(__always)
    init(_ text: UnsafePointer<UInt8>, from start: Int, to end: Int) {
        length = end &- start
        self.start = text + start
        if length > 8 {
            first = ByteWord.load(text + start)
            last = ByteWord.load(text + (end &- 8))
            return
        }
        first = 0
        // Of a shift, only the last six bits count.
        let unused = UInt64(truncatingIfNeeded: 0 &- length) &* 8
        if end >= 8 {
            last = ByteWord.load(text + (end &- 8)) &>> unused
        } else {
            // In front of the text nothing may be read.
            last = (ByteWord.load(text + start) &<< unused) &>> unused
        }
    }

    /// The words of a text behind at least eight bytes.
    @inline(__always)
    init(_ start: UnsafePointer<UInt8>, count: Int) { self.init(start - 8, from: 8, to: 8 &+ count) }

    /// Whether both have the same bytes.
    @inline(__always)
    static func == (one: TextKey, other: TextKey) -> Bool {
        one.length == other.length && one.first == other.first && one.last == other.last
            && (one.length <= 16 || one.hasMiddle(of: other))
    }

    @inline(never)
    private func hasMiddle(of other: TextKey) -> Bool {
        var index = 8
        while index < length &- 8 {
            if ByteWord.load(start + index) != ByteWord.load(other.start + index) { return false }
            index &+= 8
        }
        return true
    }
}
