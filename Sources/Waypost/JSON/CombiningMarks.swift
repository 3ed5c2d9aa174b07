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
