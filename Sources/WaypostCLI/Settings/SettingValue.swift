import Configuration
import Waypost

/// What a file says of one setting, as each kind of setting would read it.
///
/// Whether `agent: 007` is a text and `log-ring: 500` a number is a matter of the setting, so a value is both.
struct SettingValue: Equatable, Sendable {
    /// What a setting can be.
    enum Kind: String, Sendable {
        /// One text or several.
        case text = "a text"
        case number = "a whole number"
        case flag = "true or false"
    }

    private(set) var text: String?
    private(set) var list: [String]?
    private(set) var number: Int?
    private(set) var flag: Bool?
    /// What it is, for an error; the value itself may be a secret.
    private(set) var form: String

    /// A scalar of YAML; only a plain one can be anything other than a text.
    init(yaml text: String, isPlain: Bool) {
        self.text = text
        form = text.isEmpty ? "nothing" : "a text"
        // None is longer, and of combining marks every comparison takes time that grows with the square of their number.
        guard isPlain, text.utf8.count <= 64 else { return }
        number = Self.number(yaml: text)
        flag = Self.flag(yaml: text)
        if number != nil { form = "a number" }
        if flag != nil { form = "true or false" }
    }

    /// Its paths, those that are relative as paths below a folder.
    func below(_ folder: String, mayHaveID: Bool) -> SettingValue {
        func below(_ text: String) -> String {
            // What is no path is refused as it was written.
            guard !text.isEmpty, text.unseenFault() == nil, !text.hasOuterWhiteSpace else { return text }
            let path = mayHaveID ? KeyFile(text).path : text
            return text.dropLast(path.count) + UserFolder.absolute(path, in: folder)
        }
        var value = self
        (value.text, value.list) = (text.map(below), list?.map(below))
        return value
    }

    /// Several texts.
    init(_ list: [String]) {
        self.list = list
        form = "a list"
    }

    /// A value of JSON; nil for those that no setting has.
    init?(json: JSONValue) {
        switch json {
        case .string(let text):
            self.text = text
            form = text.isEmpty ? "an empty text" : "a text"
        case .int(let number):
            self.number = Int(exactly: number)
            flag = number != 0
            form = "a number"
        case .double(let number):
            self.number = Int(exactly: number)
            flag = number != 0
            form = "a number"
        case .bool(let flag):
            self.flag = flag
            form = "true or false"
        case .array(let elements):
            let texts = elements.compactMap(\.stringValue)
            guard texts.count == elements.count else { return nil }
            list = texts
            form = "a list"
        default: return nil
        }
    }

    /// Every text in it.
    var texts: [String] { list ?? text.map { [$0] } ?? [] }

    /// The value as such a setting reads it; content of another kind when it can't, which the reader then refuses.
    func content(as kind: Kind) -> ConfigContent {
        switch kind {
        case .text: text.map(ConfigContent.string) ?? list.map(ConfigContent.stringArray) ?? .bool(false)
        case .number: number.map(ConfigContent.int) ?? .string("")
        case .flag: flag.map(ConfigContent.bool) ?? .string("")
        }
    }

    /// YAML 1.1's bool (yaml.org/type/bool.html), without the one-letter words.
    private static func flag(yaml text: String) -> Bool? {
        switch text {
        case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON": true
        case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF": false
        default: nil
        }
    }

    /// YAML's int (yaml.org/type/int.html), as 1.1 and 1.2 write octal numbers, without those to the base of sixty.
    private static func number(yaml text: String) -> Int? {
        var digits = Substring(text.filter { $0 != "_" })
        let sign = digits.first == "-" || digits.first == "+" ? String(digits.removeFirst()) : ""
        // The initialiser would take a second sign.
        guard digits.first?.isHexDigit == true, digits != "0" else { return digits == "0" ? 0 : nil }
        for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8), ("0", 8)] where digits.hasPrefix(prefix) {
            digits = digits.dropFirst(prefix.utf8.count)
            return digits.first?.isHexDigit == true ? Int(sign + digits, radix: radix) : nil
        }
        return Int(sign + digits)
    }
}
