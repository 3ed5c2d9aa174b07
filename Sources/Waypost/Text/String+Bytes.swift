internal import CPathScan

extension String {
    /// The text, cut to `limit` bytes at the edge of a scalar, with an ellipsis when something was cut.
    ///
    /// Not at the edge of a character: looking for that takes as long as a character has combining marks.
    package func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit - 3))
        while end > startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return self[..<end] + "…"
    }

    /// The beginning in quotes and with escapes, for a text that names what was found.
    package var quoted: String { cut(to: 256).debugDescription }
}

extension [UInt8] {
    /// Appends a text as it lies in memory, where its `utf8` would be walked through byte by byte.
    package mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether both have the same bytes.
    @inline(__always)
    func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard let start = baseAddress, let others = other.baseAddress else { return true }
        return waypost_are_equal(start, others, count)
    }
}
