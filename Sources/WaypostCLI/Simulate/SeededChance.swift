/// Chance that comes out alike for the same seed: SplitMix64.
struct SeededChance: RandomNumberGenerator, Sendable {
    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

    private var state: UInt64

    /// - Parameter stream: those of different streams have nothing to do with each other.
    init(seed: UInt64, stream: UInt64) {
        state = seed
        state = next() ^ (stream &* Self.step)
        _ = next()
    }

    mutating func next() -> UInt64 {
        state &+= Self.step
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
