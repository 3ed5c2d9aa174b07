/// The rule for names of agents, groups and senders, and for command ids: `[A-Za-z0-9_-]{1,64}`.
///
/// It is checked before any name reaches the broker or the C library, whose topics end at the first NUL.
package enum Name {
    /// The longest name, in bytes.
    package static let maximumBytes = 64

    /// Whether `text` is such a name.
    package static func isValid(_ text: String) -> Bool { isValid(text[...]) }

    /// Whether `text` is such a name.
    static func isValid(_ text: Substring) -> Bool {
        let bytes = text.utf8Span.span
        guard bytes.count >= 1, bytes.count <= maximumBytes else { return false }
        // By index: generic code that is not specialized takes ten times as long.
        var place = 0
        while place < bytes.count, isAllowed(bytes[place]) { place += 1 }
        return place == bytes.count
    }

    /// Whether `text` is the name of a group that an agent may be in or not: all is none.
    package static func isGroup(_ text: String) -> Bool { isValid(text) && text != "all" }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default:
            false
        }
    }
}
