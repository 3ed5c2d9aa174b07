import Waypost

/// JSON for programs whose output a person may look at: what a terminal could obey, or no one sees, is escaped as
/// `\uXXXX`.
enum TerminalJSON {
    /// The JSON text with the same meaning and nothing in it that a terminal obeys.
    ///
    /// - Parameter json: JSON texts, one a line. Control characters stand only between their tokens, as white space.
    static func escaped(_ json: [UInt8]) -> [UInt8] {
        guard json.contains(where: mayBeginUnsafe) else { return json }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.count + 16)
        var lone = LoneMarks()
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            let isLone = lone.take(scalar)
            switch scalar {
            case "\n": bytes.append(UInt8(ascii: "\n"))
            case "\0"..<" ": bytes.append(UInt8(ascii: " "))
            case _ where scalar.isUnseen || isLone:
                lone.escaped()
                for unit in String(scalar).utf16 { append(unit, to: &bytes) }
            default: bytes.append(contentsOf: String(scalar).utf8)
            }
        }
        return bytes
    }

    /// Whether a byte is none of what can be seen of ASCII, and does not end a line.
    private static func mayBeginUnsafe(_ byte: UInt8) -> Bool {
        byte != UInt8(ascii: "\n") && !(0x20..<0x7F).contains(byte)
    }

    private static func append(_ unit: UInt16, to bytes: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        bytes += Array("\\u".utf8)
        for shift in [12, 8, 4, 0] { bytes.append(digits[Int(unit >> UInt16(shift)) & 15]) }
    }
}
