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
