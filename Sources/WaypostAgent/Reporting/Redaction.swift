/// Masks the values of keys that must never be seen, wherever `key=value` stands: in a URL or in a sentence.
struct Redaction: Sendable, Hashable {
    /// Keys masked unless more are named.
    static let standardKeys: Set<String> = ["password", "token", "secret", "authorization", "cookie"]

    private static let mask = Array("***".utf8)

    private let keys: Set<String>

    /// - Parameter further: keys beside the standard ones, in any case.
    init(further: [String] = []) {
        keys = Self.standardKeys.union(further.map { $0.lowercased() })
    }

    /// The text with every such value replaced by `***`.
    func masked(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "=")) else { return text }
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            result.append(bytes[position])
            position += 1
            guard bytes[position - 1] == UInt8(ascii: "="), isSecret(endingBefore: position - 1, in: bytes)
            else {
                continue
            }
            let end = bytes[position...].firstIndex(where: Self.endsValue) ?? bytes.count
            if end > position { result += Self.mask }
            position = end
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Whether `key` names a value that must not be seen.
    func hides(_ key: String) -> Bool { keys.contains(key.lowercased()) }

    private func isSecret(endingBefore end: Int, in bytes: [UInt8]) -> Bool {
        let start = bytes[..<end].lastIndex { !Self.isInKey($0) }.map { $0 + 1 } ?? 0
        return start < end && hides(Self.decoded(bytes[start..<end]))
    }

    private static func isInKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "%"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static func endsValue(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "'"), 0...0x20: true
        default: false
        }
    }

    private static func decoded(_ key: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = key
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
