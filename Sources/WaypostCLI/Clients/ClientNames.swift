import Waypost

/// How names of a contract are written in a language: each is a name there, and no two are the same.
struct ClientNames {
    /// The words of the language, and what the file needs itself.
    var reserved: Set<String>

    /// A name that is not taken yet, as close as can be to the one of the contract.
    ///
    /// Letters, digits and `_` stay, as far as both languages take them as they are.
    func name(_ wanted: String, _ taken: inout Set<String>) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in wanted.unicodeScalars {
            if Self.isKept(scalar) {
                scalars.append(scalar)
            } else if scalars.last != "_" {
                scalars.append("_")
            }
        }
        // Python hides names with two underscores, and both languages have some of their own.
        scalars = .init(scalars.drop { $0 == "_" })
        while scalars.last == "_" { scalars.removeLast() }
        var name = String(scalars)
        if name.isEmpty { name = "value" }
        if name.unicodeScalars.first.map({ !$0.properties.isXIDStart }) ?? true { name = "n\(name)" }
        if reserved.contains(name) { name += "_" }
        var (candidate, number) = (name, 2)
        while reserved.contains(candidate) || !taken.insert(candidate).inserted {
            candidate = name.hasSuffix("_") ? "\(name)\(number)" : "\(name)_\(number)"
            number += 1
        }
        return candidate
    }

    /// Whether it may stand in a name.
    ///
    /// Python reads names in the form NFKC: what that changes would make one of two.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return Character(scalar).isWordInSource }
        guard scalar.properties.isXIDContinue, !scalar.isUnseen else { return false }
        return scalar.properties.lowercaseMapping.unicodeScalars.allSatisfy {
            !$0.properties.changesWhenNFKCCaseFolded
        }
    }

    /// The words of a source that no name of a contract may hide: all but those in comments.
    static func words(of source: String, comments: [(begin: String, end: String)]) -> Set<String> {
        let bytes = Array(source.utf8)
        var words: Set<String> = []
        var (index, start) = (0, 0)
        func take() {
            if start < index { words.insert(String(decoding: bytes[start..<index], as: UTF8.self)) }
        }
        while index < bytes.count {
            if let comment = comments.first(where: { bytes[index...].starts(with: $0.begin.utf8) }) {
                take()
                index += comment.begin.utf8.count
                while index < bytes.count, !bytes[index...].starts(with: comment.end.utf8) { index += 1 }
                index += comment.end.utf8.count
                start = index
            } else if Character(Unicode.Scalar(bytes[index])).isWordInSource {
                index += 1
            } else {
                take()
                index += 1
                start = index
            }
        }
        return words
    }

    /// A text for a comment: one line, without what could end it or change how it is read.
    static func line(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "`": scalars.append("'")
            case "\\": scalars.append(" ")
            // Not as the end of a comment.
            case "/" where scalars.last == "*": scalars.append(contentsOf: " /".unicodeScalars)
            default: scalars.append(scalar.isUnseen ? " " : scalar)
            }
        }
        return String(scalars)
    }

    /// A text as a literal, in double quotes; `escape` writes a character that must not stand there as it is.
    static func literal(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\\(scalar)"
            case "\n": literal += "\\n"
            default: literal += scalar.isUnseen ? escape(scalar) : String(scalar)
            }
        }
        return literal + "\""
    }
}

extension Character {
    /// A letter or digit of ASCII, or `_`.
    fileprivate var isWordInSource: Bool { isASCII && (isLetter || isNumber) || self == "_" }
}
