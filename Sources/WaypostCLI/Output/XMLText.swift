/// Text as XML 1.0 has it; characters that no document may have are replaced.
enum XMLText {
    /// The value of an attribute in double quotes.
    static func attribute(_ text: String) -> String { escaped(text, isAttribute: true) }

    /// What stands between tags.
    static func content(_ text: String) -> String { escaped(text, isAttribute: false) }

    private static func escaped(_ text: String, isAttribute: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"" where isAttribute: escaped += "&quot;"
            // A parser makes spaces of these.
            case "\t" where isAttribute, "\n" where isAttribute, "\r": escaped += "&#\(scalar.value);"
            case "\t", "\n": escaped.unicodeScalars.append(scalar)
            case "\u{0}"..<"\u{20}", "\u{FFFE}", "\u{FFFF}": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
