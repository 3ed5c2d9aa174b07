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
    static func hasWebHost(_ scheme: UnsafeBufferPointer<UInt8>) -> Bool {
        web.contains { isWeb($0, scheme) }
    }

    /// Whether a scheme is that one, in any case.
    static func isWeb(_ name: StaticString, _ scheme: UnsafeBufferPointer<UInt8>) -> Bool {
        name.utf8CodeUnitCount == scheme.count
            && scheme.indices.allSatisfy { scheme[$0] | 0x20 == name.utf8Start[$0] }
    }

    private static let web: [StaticString] = ["https", "http", "wss", "ws", "ftp", "file"]

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
