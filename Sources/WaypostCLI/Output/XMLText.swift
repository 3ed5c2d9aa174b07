import Waypost

/// Text as XML 1.0 has it; characters that no document may have are replaced.
enum XMLText {
    /// The value of an attribute in double quotes.
    static func attribute(_ text: String) -> String { escaped(text, isAttribute: true) }

    /// What stands between tags.
    static func content(_ text: String) -> String { escaped(text, isAttribute: false) }

    private static func escaped(_ text: String, isAttribute: Bool) -> String {
        text.escaping { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"" where isAttribute: "&quot;"
            // A parser makes spaces of these.
            case "\t" where isAttribute, "\n" where isAttribute, "\r": "&#\(scalar.value);"
            case "\t", "\n": nil
            case "\u{0}"..<"\u{20}", "\u{FFFE}", "\u{FFFF}": "\u{FFFD}"
            default: nil
            }
        }
    }
}
