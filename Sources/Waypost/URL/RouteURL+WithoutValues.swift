extension RouteURL {
    /// A URL as it may be shown to others: each value in its query and its fragment is `***`, path and keys stay.
    ///
    /// In the URL of a call the values of `protocol` and `method` stay too, since they name what is called. The text
    /// need not be a URL.
    package static func withoutValues(_ text: String) -> String {
        let isMark = { (byte: UInt8) in byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }
        guard text.utf8.contains(where: isMark) else { return text }
        var text = text
        return text.withUTF8 { bytes in
            let start = bytes.firstIndex(where: isMark).map { $0 + 1 } ?? bytes.count
            let pairs = bytes[start...].split(omittingEmptySubsequences: false) {
                $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "#")
            }
            let names = ["protocol=", "method="]
            let isCall = names.allSatisfy { name in pairs.contains { $0.starts(with: name.utf8) } }
            var shown = Array(bytes[..<start])
            shown.reserveCapacity(bytes.count + 64)
            for pair in pairs {
                if isCall, names.contains(where: { pair.starts(with: $0.utf8) }) {
                    shown += pair
                } else {
                    // What has no key may be the rest of a value with an `&` in it.
                    let value = pair.firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? pair.startIndex
                    shown += pair[..<value]
                    if value < pair.endIndex { shown += "***".utf8 }
                }
                if pair.endIndex < bytes.endIndex { shown.append(bytes[pair.endIndex]) }
            }
            return String(decoding: shown, as: UTF8.self)
        }
    }
}
