extension RouteURL {
    /// A URL as it may be shown to others: each value in its query and its fragment is `***`, path and keys stay.
    ///
    /// In the URL of a call the values of `protocol` and `method` stay too, since they name what is called. The text
    /// need not be a URL.
    package static func withoutValues(_ text: String) -> String {
        let isMark = { (byte: UInt8) in byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }
        guard let mark = text.utf8.firstIndex(where: isMark) else { return text }
        let bytes = Array(text.utf8)
        let start = text.utf8.distance(from: text.utf8.startIndex, to: mark)
        let names = [Array("protocol".utf8), Array("method".utf8)]
        let pieces = bytes[(start + 1)...].split(omittingEmptySubsequences: false, whereSeparator: endsPair)
        let isCall = names.allSatisfy { name in
            pieces.contains { $0.starts(with: name + [UInt8(ascii: "=")]) }
        }
        var shown = Array(bytes[...start])
        for piece in pieces {
            // What has no key may be the rest of a value with an `&` in it.
            let value = piece.firstIndex(of: UInt8(ascii: "=")).map { $0 + 1 } ?? piece.startIndex
            let isName = isCall && names.contains { piece[..<value].dropLast().elementsEqual($0) }
            shown += piece[..<value]
            if isName {
                shown += piece[value...]
            } else if value < piece.endIndex {
                shown += Array("***".utf8)
            }
            if piece.endIndex < bytes.endIndex { shown.append(bytes[piece.endIndex]) }
        }
        return String(decoding: shown, as: UTF8.self)
    }

    private static func endsPair(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "&") || byte == UInt8(ascii: "#")
    }
}
