/// The priorities of Android's logcat.
package enum LogLevel: UInt8, Sendable, Hashable, Comparable, CaseIterable {
    case verbose, debug, info, warning, error, fatal

    /// Reads `V`, `D`, `I`, `W`, `E` or `F`, in either case.
    package init?(letter: some StringProtocol) {
        guard letter.utf8.count == 1, let byte = letter.utf8.first,
            let level = Self.allCases.first(where: { $0.byte == byte || $0.byte | 0x20 == byte })
        else { return nil }
        self = level
    }

    /// The capital letter, as it stands in an event's `l`.
    package var letter: String { String(UnicodeScalar(byte)) }

    /// The small letter, as it stands in a topic.
    package var topicLevel: String { String(UnicodeScalar(byte | 0x20)) }

    /// Warnings and worse are delivered at QoS 1, the rest at QoS 0.
    package var isDeliveredAtLeastOnce: Bool { self >= .warning }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    private var byte: UInt8 {
        switch self {
        case .verbose: UInt8(ascii: "V")
        case .debug: UInt8(ascii: "D")
        case .info: UInt8(ascii: "I")
        case .warning: UInt8(ascii: "W")
        case .error: UInt8(ascii: "E")
        case .fatal: UInt8(ascii: "F")
        }
    }
}

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
