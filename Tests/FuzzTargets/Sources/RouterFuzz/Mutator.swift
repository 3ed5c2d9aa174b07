/// Makes inputs out of good and bad samples: bytes are changed, cut, doubled and spliced.
///
/// The whole run follows from the seed: an input that traps is had again by its seed and number.
struct Mutator: RandomNumberGenerator {
    private var state: UInt64
    private var corpus: [[UInt8]]

    private static let tokens: [[UInt8]] =
        [
            "://", "/", "//", "?", "#", "%", "%2F", "%2e", "%00", "%ff", "%E4%B8%AD", "%ED%A0%80", "%C0%AF",
            "..", ".", "@",
            ":", ":80", "[::1]", "<", ">", "<int:", ":id", "*", "**", "<path:", "&", "=", "+", " ", "\t",
            "\u{0}", "\u{7f}",
            "\u{85}", "\u{a0}", "\u{3000}", "中", "😀", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ].map { Array($0.utf8) } + [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]]

    init(seed: UInt64, corpus: [String]) {
        state = seed
        self.corpus = corpus.map { Array($0.utf8) }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    private mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: next() % UInt64(max(bound, 1)))
    }

    mutating func input() -> [UInt8] {
        var bytes = corpus[below(corpus.count)]
        for _ in 0..<(1 + below(5)) {
            let place = below(bytes.count + 1)
            switch below(7) {
            case 0: if place < bytes.count { bytes[place] = UInt8(truncatingIfNeeded: next()) }
            case 1: if place < bytes.count { bytes[place] ^= 1 << UInt8(below(8)) }
            case 2: bytes.insert(contentsOf: Self.tokens[below(Self.tokens.count)], at: place)
            case 3: bytes.removeSubrange(place..<min(bytes.count, place + below(8)))
            case 4: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + below(40))], at: place)
            case 5: bytes = Array(bytes[..<place]) + corpus[below(corpus.count)].dropFirst(below(12))
            default: bytes.append(contentsOf: Self.tokens[below(Self.tokens.count)])
            }
        }
        // What was made is a start for more, one place at a time.
        if bytes.count < 400, below(50) == 0 { corpus[below(corpus.count)] = bytes }
        return bytes
    }
}
