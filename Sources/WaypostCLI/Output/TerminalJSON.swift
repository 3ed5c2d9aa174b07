import Waypost

/// JSON for programs whose output a person may look at: what a terminal could obey is escaped as `\uXXXX`.
enum TerminalJSON {
    /// The JSON text with the same meaning and nothing in it that a terminal obeys.
    ///
    /// - Parameter json: JSON texts, one a line. Control characters stand only between their tokens, as white space.
    static func escaped(_ json: [UInt8]) -> [UInt8] {
        guard json.contains(where: mayBeginUnsafe) else { return json }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.count + 16)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            switch scalar {
            case "\n": bytes.append(UInt8(ascii: "\n"))
            case "\0"..<" ": bytes.append(UInt8(ascii: " "))
            case _ where scalar.isUnsafeForTerminal:
                for unit in String(scalar).utf16 { append(unit, to: &bytes) }
            default: bytes.append(contentsOf: String(scalar).utf8)
            }
        }
        return bytes
    }

    /// The first bytes of everything that is unsafe; most JSON has none of them.
    private static func mayBeginUnsafe(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x0A: false
        case 0..<0x20, 0x7F, 0xC2, 0xD8, 0xE2, 0xEF, 0xF3: true
        default: false
        }
    }

    private static func append(_ unit: UInt16, to bytes: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        bytes += Array("\\u".utf8)
        for shift in [12, 8, 4, 0] { bytes.append(digits[Int(unit >> UInt16(shift)) & 15]) }
    }
}
