@testable import Waypost

/// Texts that leave the process, with everything secret masked.
enum MaskingLaws: Laws {
    private static let redaction = Redaction(further: ["cardNumber"])

    static func read(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        _ = redaction.masked(text)
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        let text = String(decoding: bytes, as: UTF8.self)
        let masked = redaction.masked(text)
        try BrokenLaw.unless(
            redaction.masked(masked).utf8.elementsEqual(masked.utf8), "what is masked stays as it is")
        // A byte that stands nowhere else, so that none of it may be seen.
        guard let secret = "QXZJVK".utf8.first(where: { !text.utf8.contains($0) }) else { return }
        let value = String(repeating: Character(Unicode.Scalar(secret)), count: 8)
        for key in ["token", "card_number"] {
            let shown = redaction.masked("\(text)&\(key)=\(value)")
            try BrokenLaw.unless(!shown.utf8.contains(secret), "a secret is masked whatever stands before it")
        }
    }
}
