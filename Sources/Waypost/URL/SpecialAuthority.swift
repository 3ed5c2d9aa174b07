/// The schemes whose URLs browsers read by rules of their own (WHATWG URL, "special scheme"), and what is refused
/// there so that the host is the same by those rules and by RFC 3986.
///
/// Otherwise a host could pass the allow-list here, and the page would be loaded from another one.
enum SpecialAuthority {
    /// Whether a scheme of this length and first letter can be one of them.
    @inline(__always)
    static func mayHave(_ first: UInt8, length: Int) -> Bool {
        let letter = first | 0x20
        return length <= 5
            && (letter == UInt8(ascii: "h") || letter == UInt8(ascii: "w") || letter == UInt8(ascii: "f"))
    }

    /// Where in an authority reading must stop, and why; nil when it is well.
    ///
    /// - Parameters:
    ///   - bytes: What stands between `//` and the path.
    ///   - host: Where in it the host stands.
    static func fault(
        _ bytes: UnsafeBufferPointer<UInt8>, host: Range<Int>, of scheme: UnsafeBufferPointer<UInt8>
    ) -> RouteURLFault? {
        func ambiguous(_ offset: Int) -> RouteURLFault {
            RouteURLFault(reason: .ambiguousHost, offset: offset)
        }
        if RouteScheme.isWeb("file", scheme) {
            // `file://c:/x` names a drive there and a host here.
            if let mark = bytes.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "@") }) {
                return ambiguous(mark)
            }
            // A file of this machine has no host.
            if host.isEmpty { return nil }
        }
        if let at = bytes.firstIndex(of: UInt8(ascii: "@")), at + 1 < host.lowerBound { return ambiguous(at) }
        if let offset = faultyByte(bytes, in: host) { return ambiguous(offset) }
        var port = 0
        for index in bytes.indices.dropFirst(host.upperBound + 1) {
            // The parser has found digits only.
            port = port * 10 + Int(bytes[index] &- UInt8(ascii: "0"))
            if port > 65_535 { return RouteURLFault(reason: .invalidPort, offset: index) }
        }
        return nil
    }

    private static func faultyByte(_ bytes: UnsafeBufferPointer<UInt8>, in host: Range<Int>) -> Int? {
        guard let first = host.first else { return host.lowerBound }
        if bytes[first] == UInt8(ascii: "[") {
            guard host.count > 2, bytes[host.upperBound - 1] == UInt8(ascii: "]") else { return first }
            return IPAddress.isIPv6(bytes[host.dropFirst().dropLast()]) ? nil : first
        }
        // Browsers decode, map and normalise everything else before they look it up.
        if let wrong = host.first(where: { !isPlain(bytes[$0]) }) { return wrong }
        return endsInNumber(bytes, host) && !IPAddress.isIPv4(bytes[host]) ? first : nil
    }

    /// What RFC 3986 allows in a name, without `%`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&")...UInt8(ascii: ","),
            UInt8(ascii: ";"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// Whether the last label is a number, so that browsers read the host as an IPv4 address, in whatever form.
    private static func endsInNumber(_ bytes: UnsafeBufferPointer<UInt8>, _ host: Range<Int>) -> Bool {
        var host = host
        if host.last.map({ bytes[$0] == UInt8(ascii: ".") }) == true {
            host = host.lowerBound..<host.upperBound - 1
        }
        let start = host.last { bytes[$0] == UInt8(ascii: ".") }.map { $0 + 1 } ?? host.lowerBound
        let label = bytes[start..<host.upperBound]
        if label.count >= 2, label[start] == UInt8(ascii: "0"), label[start + 1] | 0x20 == UInt8(ascii: "x") {
            return label.dropFirst(2).allSatisfy { PercentCoding.value(ofDigit: $0) != nil }
        }
        return !label.isEmpty && label.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }

    /// Whether the C library reads these bytes as an address; it takes the canonical form of IPv4 only.
}
