import Threading

/// Makes ids: a ULID's 48 bits of time and 80 of chance, in Crockford's base 32.
package enum Identifier {
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// 26 characters that sort by `time`, in milliseconds since 1970.
    package static func ulid(at time: Int64) -> String {
        var chance = Chance()
        return ulid(at: time, using: &chance)
    }

    /// The same with chance of the caller's.
    package static func ulid(at time: Int64, using chance: inout some RandomNumberGenerator) -> String {
        encode(UInt64(clamping: time), 10) + short(using: &chance) + short(using: &chance)
    }

    /// 8 characters that tell this start of the process from others.
    package static func boot() -> String { short() }

    /// 8 characters of chance.
    package static func short() -> String {
        var chance = Chance()
        return short(using: &chance)
    }

    /// The same with chance of the caller's.
    package static func short(using chance: inout some RandomNumberGenerator) -> String {
        encode(UInt64.random(in: 0..<(1 << 40), using: &chance), 8)
    }

    private static func encode(_ number: UInt64, _ width: Int) -> String {
        String(
            decoding: (0..<width).reversed().map { digits[Int(number >> (UInt64($0) * 5) & 31)] },
            as: UTF8.self)
    }
}
