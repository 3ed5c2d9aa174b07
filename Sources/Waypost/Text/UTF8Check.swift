/// A strict reader of UTF-8 (Unicode 15, table 3-7): no overlong form, no surrogate, nothing above U+10FFFF.
///
/// It takes one byte after the other, so that decoded text needs no buffer to be checked.
struct UTF8Check {
    private var pending = 0
    // The range of the next continuation byte: only the first one after some lead bytes is narrower.
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xbf
    private var afterC2 = false

    /// Whether the text read so far ends with a whole character.
    var isComplete: Bool { pending == 0 }

    /// What one more byte means.
    enum Step {
        case fine, invalid
        /// The byte ends a control character (U+0000–001F, U+007F–009F).
        case control
    }

    /// Reads one byte.
    mutating func read(_ byte: UInt8) -> Step {
        if pending > 0 {
            guard byte >= lower, byte <= upper else { return .invalid }
            pending &-= 1
            lower = 0x80
            upper = 0xbf
            defer { afterC2 = false }
            return afterC2 && byte < 0xa0 ? .control : .fine
        }
        switch byte {
        case 0..<0x20, 0x7f: return .control
        case 0x20..<0x7f: return .fine
        case 0xc2...0xdf: pending = 1
        case 0xe0: (pending, lower) = (2, 0xa0)
        case 0xed: (pending, upper) = (2, 0x9f)
        case 0xe1...0xef: pending = 2
        case 0xf0: (pending, lower) = (3, 0x90)
        case 0xf1...0xf3: pending = 3
        case 0xf4: (pending, upper) = (3, 0x8f)
        default: return .invalid
        }
        afterC2 = byte == 0xc2
        return .fine
    }
}
