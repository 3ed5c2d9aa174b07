/// Limits for reading JSON from outside.
///
/// Each limit is checked while reading, so reading stops at the limit.
public struct JSONLimits: Sendable, Hashable {
    /// The longest text, in bytes; 262 144 unless set, the size of the largest message (a map).
    package var maximumBytes: Int
    /// How deep arrays and objects may be nested; 16 unless set, never more than 512.
    package var maximumDepth: Int
    /// How many members one object may have; 256 unless set.
    package var maximumKeys: Int
    /// The longest string, in bytes of UTF-8 after escapes were resolved; 16 384 unless set.
    package var maximumStringBytes: Int
    /// Whether a number that can't be kept as it is, is read as the nearest double; otherwise it is an error.
    package var roundsNumbers = false

    /// Limits with the protocol's values for what is not named.
    public init(
        maximumBytes: Int = 262_144, maximumDepth: Int = 16, maximumKeys: Int = 256,
        maximumStringBytes: Int = 16_384
    ) {
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
        self.maximumKeys = maximumKeys
        self.maximumStringBytes = maximumStringBytes
    }

    /// The wire protocol's limits.
    package static let protocolDefaults = JSONLimits()

    /// Limits for files of our own user: only the depth is bounded, which protects the stack.
    package static let trustedFile = JSONLimits(
        maximumBytes: .max, maximumDepth: 512, maximumKeys: .max, maximumStringBytes: .max)

    /// Limits for what agents send to people: a number that can't be kept is no reason to show nothing of a reply.
    package static let shown: JSONLimits = {
        var limits = trustedFile
        limits.roundsNumbers = true
        return limits
    }()
}

/// The limit for combining marks in a row.
///
/// Every comparison and every hash of a `String` sorts the marks of a character, in time that grows with the square
/// of their number: 16 KiB of them take 35 ms each time. Unicode's Stream-Safe Text Format (UAX #15) has the same
/// limit, and no language comes near it.
enum CombiningMarks {
    static let limit = 30

    static func areTooMany(in text: String) -> Bool {
        var inARow = 0
        for scalar in text.unicodeScalars {
            inARow = isMark(scalar) ? inARow + 1 : 0
            if inARow > limit { return true }
        }
        return false
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x300, 0x3400..<0xA000, 0xAC00..<0xD7A4: false
        // Not marks themselves, but they decompose into nothing else.
        case 0x0F73, 0x0F75, 0x0F81: true
        default: scalar.properties.canonicalCombiningClass != .notReordered
        }
    }
}
