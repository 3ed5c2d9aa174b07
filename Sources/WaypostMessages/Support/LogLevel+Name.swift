extension LogLevel {
    /// The level of a letter or a word, in any case: `W`, `warn`, `warning`.
    package init?(name: String) {
        let words: [LogLevel: [String]] = [
            .verbose: ["verbose"], .debug: ["debug"], .info: ["info"], .warning: ["warn", "warning"],
            .error: ["error"], .fatal: ["fatal", "assert"],
        ]
        let word = name.lowercased()
        guard
            let level = LogLevel(letter: word.uppercased())
                ?? words.first(where: { $0.value.contains(word) })?.key
        else { return nil }
        self = level
    }
}
