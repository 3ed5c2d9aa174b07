/// Names and addresses of hosts in the form in which they are compared: without case, without the dot of the root, and
/// each IPv6 address in one spelling.
package enum HostName {
    /// That form of a host as a URL has it, an IPv6 address in brackets.
    package static func normalized(_ host: String) -> String {
        var name = host.lowercased()
        if name.hasPrefix("["), name.hasSuffix("]"), let groups = groups(of: name.dropFirst().dropLast()) {
            return "[" + groups.map { String($0, radix: 16) }.joined(separator: ":") + "]"
        }
        if name.hasSuffix("."), name.utf8.count > 1 { name.removeLast() }
        return name
    }

    /// Whether it has no sign, which numbers may have elsewhere.
    private static func isDigits(_ text: Substring) -> Bool { !text.utf8.contains(UInt8(ascii: "+")) }

    /// The eight groups of an IPv6 address; nil when it is none.
    private static func groups(of text: Substring) -> [UInt16]? {
        let halves = text.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
        let read = halves.map { half -> [UInt16]? in
            if half.isEmpty { return [] }
            var groups: [UInt16] = []
            for part in half.split(separator: ":", omittingEmptySubsequences: false) {
                if part.contains(".") {
                    let parts = part.split(separator: ".", omittingEmptySubsequences: false)
                    let bytes = parts.compactMap { isDigits($0) ? UInt8($0) : nil }
                    guard bytes.count == 4, parts.count == 4 else { return nil }
                    groups += [
                        UInt16(bytes[0]) << 8 | UInt16(bytes[1]), UInt16(bytes[2]) << 8 | UInt16(bytes[3]),
                    ]
                } else {
                    guard isDigits(part), let group = UInt16(part, radix: 16) else { return nil }
                    groups.append(group)
                }
            }
            return groups
        }
        guard let first = read.first ?? nil, let last = read.last ?? nil else { return nil }
        guard halves.count == 2 else { return first.count == 8 ? first : nil }
        let gap = 8 - first.count - last.count
        return gap > 0 ? first + Array(repeating: 0, count: gap) + last : nil
    }
}
