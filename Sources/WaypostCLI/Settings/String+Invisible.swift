extension String {
    /// Whether it has an invisible character that makes it another text: a control, or U+FEFF, the byte
    /// order mark.
    var hasInvisibleCharacter: Bool {
        unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{FEFF}" }
    }

    /// Whether white space stands before or behind it.
    var hasOuterWhiteSpace: Bool { first?.isWhitespace == true || last?.isWhitespace == true }
}
