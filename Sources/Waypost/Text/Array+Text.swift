extension [UInt8] {
    /// Appends a text as it lies in memory, where its `utf8` would be walked through byte by byte.
    package mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(contentsOf: $0) }
    }
}
