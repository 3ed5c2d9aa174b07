import TestSupport

/// Bends the documents that agents publish: extreme numbers, hostile texts, and broken bytes.
struct MessageMutator {
    private static let numbers = [
        "-9223372036854775808", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e308",
        "-1e308", "1e400", "5e-324", "0", "-0", "-1", "1", "0.5", "9007199254740991", "9007199254740992",
        "9999999999999", "253402300799999", "-62135596800000", "4294967296", "-2147483649", "null", "\"7\"",
        "true",
        "[]", "{}",
    ].map { Array($0.utf8) }
    private static let texts = [
        #"\u001b]0;x\u0007"#, #"\u009b2J"#, #"\u202e"#, #"\u061c"#, #"\u2028"#, #"\u0000"#, #"\r\n"#,
        #"\udb40\udc41"#, #"\u007f"#, "e\u{301}", "中文", "👩‍👩‍👧", "\u{301}", "", "k1", "online", "offline",
        "birth",
        "agent", "patch", "@all", "DISK", "NO_ROUTE", "ok", "accepted", "%s%n", "\\\\",
    ].map { Array($0.utf8) }
    private static let tokens =
        [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\n", "\r", "\t", "\u{1B}", "null", "-", "9", "\u{0}",
            "\u{FEFF}", "\u{202E}",
        ].map { Array($0.utf8) } + [[0xFF], [0xC2, 0x9B], [0xED, 0xA0, 0x80]]

    private var random: SeededGenerator
    private let samples: [[[UInt8]]]

    /// - Parameter samples: for each kind of message, its documents.
    init(seed: UInt64, samples: [[String]]) {
        random = SeededGenerator(seed: seed)
        self.samples = samples.map { $0.map { Array($0.utf8) } }
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(bound, 1), using: &random) }

    /// A bent document of the kind.
    mutating func next(_ kind: Int) -> [UInt8] {
        var bytes = samples[kind][below(samples[kind].count)]
        for _ in 0..<below(6) {
            switch below(8) {
            case 0...2: replace(in: &bytes, Self.numbers, where: { (0x30...0x39).contains($0) || $0 == 0x2D })
            case 3...4: replaceText(in: &bytes)
            case 5:
                bytes.insert(contentsOf: Self.tokens[below(Self.tokens.count)], at: below(bytes.count + 1))
            case 6:
                let place = below(bytes.count + 1)
                bytes.removeSubrange(place..<min(bytes.count, place + below(6)))
            default:
                let place = below(bytes.count)
                if place < bytes.count { bytes[place] ^= 1 << UInt8(below(8)) }
            }
        }
        return bytes
    }

    /// Puts another number in the place of one.
    private mutating func replace(
        in bytes: inout [UInt8], _ choice: [[UInt8]], where belongs: (UInt8) -> Bool
    ) {
        let start = below(bytes.count)
        guard let first = bytes[start...].firstIndex(where: belongs) else { return }
        let end = bytes[first...].firstIndex { !belongs($0) } ?? bytes.endIndex
        bytes.replaceSubrange(first..<end, with: choice[below(choice.count)])
    }

    /// Puts another text between two quotes.
    private mutating func replaceText(in bytes: inout [UInt8]) {
        let quote = UInt8(ascii: "\"")
        guard let first = bytes[below(bytes.count)...].firstIndex(of: quote),
            let end = bytes[(first + 1)...].firstIndex(of: quote)
        else { return }
        bytes.replaceSubrange((first + 1)..<end, with: Self.texts[below(Self.texts.count)])
    }
}
