/// A stable part of all clients, or of all values of a parameter.
struct RelocationShare: Sendable, Hashable {
    /// By what a share is drawn.
    enum Key: Sendable, Hashable {
        case agent
        case parameter(String)
    }

    /// Buckets of a thousandth of a percent: a share has at most three decimals.
    static let buckets: UInt64 = 100_000

    let salt: String
    let key: Key

    /// The bucket of a value, from 0 to 99 999: the same everywhere and for ever.
    ///
    /// The first 8 bytes, big endian, of SHA-256(`waypost-share` NUL salt NUL value), modulo 100 000.
    func bucket(of value: String) -> UInt64 {
        let text = Array("waypost-share".utf8) + [0] + salt.utf8 + [0] + value.utf8
        return SHA256Hash.first64Bits(of: text) % Self.buckets
    }
}

/// SHA-256 (FIPS 180-4), for drawing shares; what must be secret or quick does not come here.
///
/// The digest of documents and commands is OpenSSL's, which is thirty times as quick and which a router does without.
enum SHA256Hash {
    private static let primes = (2...311).filter { number in
        !(2..<number).contains { number.isMultiple(of: $0) }
    }
    /// The first 32 bits behind the point of the square roots of eight primes (5.3.3).
    private static let start = primes.prefix(8).map { fraction(Double($0).squareRoot()) }
    /// The same of the cube roots of 64 (4.2.2).
    private static let rounds = primes.map { fraction(cubeRoot(Double($0))) }

    /// By Newton's method; that of the C library has another module on each system.
    private static func cubeRoot(_ number: Double) -> Double {
        (0..<64).reduce(number) { root, _ in root - (root - number / (root * root)) / 3 }
    }

    private static func fraction(_ root: Double) -> UInt32 {
        UInt32((root - root.rounded(.down)) * 4_294_967_296)
    }

    /// The first 8 bytes of the digest, big endian.
    static func first64Bits(of bytes: [UInt8]) -> UInt64 {
        var message = bytes + [0x80]
        message += Array(repeating: 0, count: (120 - message.count % 64) % 64)
        let length = UInt64(bytes.count) &* 8
        message += (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) }
        var state = start
        for block in stride(from: 0, to: message.count, by: 64) {
            mix(message[block..<block + 64], into: &state)
        }
        return UInt64(state[0]) << 32 | UInt64(state[1])
    }

    private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = [UInt32](repeating: 0, count: 64)
        for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
        func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            let first = turned(early, 7) ^ turned(early, 18) ^ early >> 3
            let second = turned(late, 17) ^ turned(late, 19) ^ late >> 10
            words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        for index in 0..<64 {
            let sumE = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ sumE &+ choice &+ rounds[index] &+ words[index]
            let sumA = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ sumA &+ majority)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] = state[index] &+ word }
    }
}
