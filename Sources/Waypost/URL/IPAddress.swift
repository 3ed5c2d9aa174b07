/// Whether a host is an address, as `inet_pton` reads it; that is not everywhere where the router is.
enum IPAddress {
    /// Four decimal numbers up to 255 with dots between them, none with a zero in front.
    static func isIPv4(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                guard (1...3).contains(part.count), part.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else {
                    return false
                }
                let number = part.reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) }
                return number <= 255 && (part.count == 1 || part.first != UInt8(ascii: "0"))
            }
    }

    /// Eight groups of up to four hexadecimal digits; `::` stands once for one or more that are 0, and the last two may be
    /// an IPv4 address.
    static func isIPv6(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let colon = UInt8(ascii: ":")
        guard let gap = text.indices.dropLast().first(where: { text[$0] == colon && text[$0 + 1] == colon })
        else { return groups(in: text, mayEndInIPv4: true) == 8 }
        guard let before = groups(in: text[..<gap], mayEndInIPv4: false),
            let after = groups(in: text[(gap + 2)...], mayEndInIPv4: true)
        else { return false }
        return before + after < 8
    }

    /// How many groups these are, none in an empty text; nil when something is no group.
    private static func groups(
        in text: Slice<UnsafeBufferPointer<UInt8>>, mayEndInIPv4: Bool
    ) -> Int? {
        guard !text.isEmpty else { return 0 }
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        var count = 0
        for (number, part) in parts.enumerated() {
            if mayEndInIPv4, number == parts.count - 1, part.contains(UInt8(ascii: ".")) {
                guard isIPv4(part) else { return nil }
                count += 2
            } else {
                guard (1...4).contains(part.count),
                    part.allSatisfy({ PercentCoding.value(ofDigit: $0) != nil })
                else { return nil }
                count += 1
            }
        }
        return count
    }
}
