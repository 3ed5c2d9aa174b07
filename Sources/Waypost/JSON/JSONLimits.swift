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
