/// Which agents a roll-out chooses: a number of each agent's own, spread evenly over all 64 bits.
package enum RolloutHash {
    /// The first 8 bytes, big endian, of SHA-256("waypost-rollout" + NUL + salt + NUL + agent).
    package static func value(salt: String, agent: String) -> UInt64 {
        let text = Array("waypost-rollout".utf8) + [0] + Array(salt.utf8) + [0] + Array(agent.utf8)
        return SHA256.digest(of: text).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A number as it stands in messages: `0x` and 16 hex digits.
    package static func text(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return "0x" + String(repeating: "0", count: max(0, 16 - digits.count)) + digits
    }

    /// Reads such a number; nil for anything else.
    package static func value(_ text: String) -> UInt64? {
        guard text.hasPrefix("0x"), text.utf8.count == 18 else { return nil }
        let digits = text.dropFirst(2)
        // A sign is no digit.
        guard digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else {
            return nil
        }
        return UInt64(digits, radix: 16)
    }
}
