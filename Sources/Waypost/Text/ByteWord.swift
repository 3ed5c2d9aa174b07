/// Eight bytes of text in one register: how the URL parser and the table look at bytes.
///
/// Words are little endian whatever the machine is, so that the first byte of the text is the lowest one.
enum ByteWord {
    static let ones: UInt64 = 0x0101_0101_0101_0101
    static let highs: UInt64 = 0x8080_8080_8080_8080
    static let lows: UInt64 = 0x7f7f_7f7f_7f7f_7f7f

    /// Reads the eight bytes at `pointer`; the caller knows that they are there.
    @inline(__always)
    static func load(_ pointer: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(pointer).loadUnaligned(as: UInt64.self))
    }

    /// Reads up to eight bytes at `index`; what lies at or behind `limit` reads as zero.
    @inline(__always)
    static func load(_ text: UnsafePointer<UInt8>, at index: Int, limit: Int) -> UInt64 {
        if index &+ 8 <= limit { return load(text + index) }
        return loadTail(text, at: index, limit: limit)
    }

    // Near the end of the text the word that ends there is read and moved down: nothing behind it is touched.
    @inline(__always)
    private static func loadTail(_ text: UnsafePointer<UInt8>, at index: Int, limit: Int) -> UInt64 {
        guard index < limit else { return 0 }
        if limit >= 8 {
            return load(text + (limit &- 8)) &>> UInt64(truncatingIfNeeded: (index &+ 8 &- limit) &* 8)
        }
        var word: UInt64 = 0
        var position = limit
        while position > index {
            position &-= 1
            word = word &<< 8 | UInt64(text[position])
        }
        return word
    }

    /// The mask that keeps the first `count` bytes of a word, for a `count` of 1 through 7 and all for more.
    @inline(__always)
    static func mask(_ count: Int) -> UInt64 {
        count >= 8 ? .max : (1 &<< UInt64(truncatingIfNeeded: count &* 8)) &- 1
    }

    /// A word of eight times this byte.
    @inline(__always)
    static func repeating(_ byte: UInt8) -> UInt64 {
        UInt64(byte) &* ones
    }

    /// 0x80 in the lowest byte of `word` that is zero, and in bytes above it perhaps where none is; 0 if none is zero.
    @inline(__always)
    static func zeros(_ word: UInt64) -> UInt64 {
        (word &- ones) & ~word & highs
    }

    /// Whether the first `count` bytes, of which there are one to seven, are ASCII letters.
    @inline(__always)
    static func areLetters(_ word: UInt64, count: Int) -> Bool {
        let small = word | repeating(0x20)
        let others =
            find(below: UInt8(ascii: "a"), in: small) | (~find(below: UInt8(ascii: "{"), in: small) & highs)
        return others & mask(count) == 0
    }

    /// 0x80 in every byte where `word` has `byte`, and nothing anywhere else.
    @inline(__always)
    static func find(_ byte: UInt8, in word: UInt64) -> UInt64 {
        let difference = word ^ (UInt64(byte) &* ones)
        return ~(((difference & lows) &+ lows) | difference | lows)
    }

    /// 0x80 in every byte of `word` that is below `bound`, for a `bound` up to 0x80; bytes of 0x80 and above are not.
    @inline(__always)
    static func find(below bound: UInt8, in word: UInt64) -> UInt64 {
        ~((word & lows) &+ (UInt64(0x80 &- bound) &* ones)) & ~word & highs
    }
}
