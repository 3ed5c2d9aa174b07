/// The white space that may stand around a URL or a pattern (Unicode `White_Space`).
enum Whitespace {
    /// The range that is left without it; start and end are equal when nothing is.
    static func trimmed(_ bytes: UnsafeBufferPointer<UInt8>) -> (start: Int, end: Int) {
        var start = 0
        var end = bytes.count
        // Mostly there is none, and neither end shows a byte that could be part of it.
        if end > 0, bytes[0] &- 0x21 < 0x5f, bytes[end &- 1] &- 0x21 < 0x5f { return (start, end) }
        while start < end {
            let length = length(bytes, at: start, end: end)
            if length == 0 { break }
            start &+= length
        }
        while start < end {
            let last = bytes[end &- 1]
            if isASCII(last) {
                end &-= 1
            } else if last >= 0x80, end &- start >= 2, length(bytes, at: end &- 2, end: end) == 2 {
                end &-= 2
            } else if last >= 0x80, end &- start >= 3, length(bytes, at: end &- 3, end: end) == 3 {
                end &-= 3
            } else {
                break
            }
        }
        return (start, end)
    }

    private static func isASCII(_ byte: UInt8) -> Bool {
        byte == 0x20 || (byte >= 0x09 && byte <= 0x0d)
    }

    private static func length(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int, end: Int) -> Int {
        let byte = bytes[index]
        if isASCII(byte) { return 1 }
        guard byte >= 0x80 else { return 0 }
        if byte == 0xc2, index &+ 1 < end, bytes[index &+ 1] == 0x85 || bytes[index &+ 1] == 0xa0 { return 2 }
        guard index &+ 2 < end else { return 0 }
        let (second, third) = (bytes[index &+ 1], bytes[index &+ 2])
        switch (byte, second) {
        case (0xe1, 0x9a): return third == 0x80 ? 3 : 0
        case (0xe2, 0x80):
            return (third >= 0x80 && third <= 0x8a) || third == 0xa8 || third == 0xa9 || third == 0xaf ? 3 : 0
        case (0xe2, 0x81): return third == 0x9f ? 3 : 0
        case (0xe3, 0x80): return third == 0x80 ? 3 : 0
        default: return 0
        }
    }
}

/// What a scheme may be made of (RFC 3986, 3.1).
package enum RouteScheme {
    @inline(__always)
    static func allows(_ byte: UInt8, first: Bool) -> Bool {
        if (byte | 0x20) &- UInt8(ascii: "a") < 26 { return true }
        if first { return false }
        return byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    /// Whether the host of this scheme is one that browsers look up, and so has no case.
    static func hasWebHost(_ name: String) -> Bool {
        switch name {
        case "https", "http", "wss", "ws", "ftp", "file": true
        default: false
        }
    }

    /// A byte in lower case, if it is an ASCII letter.
    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
    }

    /// Whether two texts have the same bytes, or the same but for the case of ASCII letters.
    package static func equals(_ one: String, _ other: String, ignoringCase: Bool) -> Bool {
        ignoringCase
            ? one.utf8.elementsEqual(other.utf8) { lowercased($0) == lowercased($1) }
            : one.utf8.elementsEqual(other.utf8)
    }
}
