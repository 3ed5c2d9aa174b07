/// Percent-encoding as the router reads and writes it (RFC 3986, 2.1): `+` is itself, and a `%` that two hex
/// digits do not follow is itself too.
package enum PercentCoding {
    /// The part of a URL that a text is encoded for.
    package enum Place: Sendable {
        /// One path component or the host: `/`, `?`, `#` and the delimiters of an authority are encoded.
        case component
        /// A key or a value of the query: `&`, `=`, `#` and `+` are encoded, `/` and `?` stay.
        case query
        /// The fragment.
        case fragment
    }

    private static let digits: [UInt8] = Array("0123456789ABCDEF".utf8)

    /// The text with every byte encoded that does not stand for itself at this place.
    package static func encode(_ text: some StringProtocol, for place: Place) -> String {
        encode(text) { isPlain($0, in: place) }
    }

    /// The text with the bytes encoded that are no ASCII, and no others: two that look alike can be distinguished.
    package static func ascii(_ text: String) -> String { encode(text) { $0 < 0x80 } }

    private static func encode(_ text: some StringProtocol, besides isPlain: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isPlain(_ byte: UInt8, in place: Place) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: ","),
            UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"),
            UInt8(ascii: "*"), UInt8(ascii: ";"):
            place != .component
        default: false
        }
    }

    /// The value of a hex digit, or nil.
    @inline(__always)
    static func value(ofDigit byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
        default: nil
        }
    }

    /// The byte at `index`, decoded, and where the next one begins.
    ///
    /// `index` lies below `bytes.count`.
    @inline(__always)
    static func next(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> (byte: UInt8, next: Int) {
        let byte = bytes[index]
        guard byte == UInt8(ascii: "%"), index &+ 2 < bytes.count,
            let high = value(ofDigit: bytes[index &+ 1]), let low = value(ofDigit: bytes[index &+ 2])
        else { return (byte, index &+ 1) }
        return (high &<< 4 | low, index &+ 3)
    }

    /// Decodes into `target`, which holds at least as many bytes as `bytes`, and returns how many were written.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, into target: UnsafeMutablePointer<UInt8>) -> Int {
        var index = 0
        var written = 0
        while index < bytes.count {
            let step = next(bytes, at: index)
            target[written] = step.byte
            written &+= 1
            index = step.next
        }
        return written
    }

    /// The decoded text; what is not UTF-8 is repaired, for the parser has refused it before.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "%")) else { return String(decoding: bytes, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: bytes.count) { target in
            guard let base = target.baseAddress else { return 0 }
            return decode(bytes, into: base)
        }
    }

    /// The decoded text of a string.
    package static func decode(_ text: some StringProtocol) -> String {
        var copy = String(text)
        return copy.withUTF8 { decode($0) }
    }
}
