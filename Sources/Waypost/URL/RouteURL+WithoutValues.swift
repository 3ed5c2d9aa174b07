extension RouteURL {
    /// A URL as it may be shown to others: each value in its query and its fragment is `***`, path and keys stay.
    ///
    /// In the URL of a call the values of `protocol` and `method` stay too, since they name what is called. The text
    /// need not be a URL.
    package static func withoutValues(_ text: String) -> String {
        let isMark = { (byte: UInt8) in byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }
        guard let mark = text.utf8.firstIndex(where: isMark) else { return text }
        let start = text.utf8.distance(from: text.utf8.startIndex, to: mark) + 1
        var text = text
        return text.withUTF8 { bytes in
            let names = ["protocol=", "method="]
            var named: Set<Int> = []
            var pair = start
            while pair < bytes.endIndex, named.count < names.count {
                if let name = names.firstIndex(where: { bytes[pair...].starts(with: $0.utf8) }) {
                    named.insert(name)
                }
                pair = (bytes[pair...].firstIndex(where: endsPair) ?? bytes.endIndex) + 1
            }
            return shown(bytes, from: start, besides: named.count == names.count ? names : [])
        }
    }

    /// The text with `***` for each value behind `start`, but for those of pairs that begin with one of `names`.
    private static func shown(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, besides names: [String]
    ) -> String {
        var shown = Array(bytes[..<start])
        shown.reserveCapacity(bytes.count + 64)
        var pair = start
        while pair < bytes.endIndex {
            let end = bytes[pair...].firstIndex(where: endsPair) ?? bytes.endIndex
            let isName = names.contains { bytes[pair..<end].starts(with: $0.utf8) }
            // What has no key may be the rest of a value with an `&` in it.
            let value = bytes[pair..<end].firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? pair
            shown += bytes[pair..<(isName ? end : value)]
            if !isName, value < end { shown += "***".utf8 }
            if end < bytes.endIndex { shown.append(bytes[end]) }
            pair = end + 1
        }
        return String(decoding: shown, as: UTF8.self)
    }

    private static func endsPair(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#")
    }
}
