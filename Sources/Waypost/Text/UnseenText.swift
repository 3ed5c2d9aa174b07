extension Unicode.Scalar {
    /// Whether no one sees it, or it changes how the text around it is read: controls and formats, ends of lines, what
    /// fonts pass over, noncharacters, and every blank but the space.
    ///
    /// By what Unicode says of it and not by a list, so that a new one is among them.
    package var isUnseen: Bool {
        guard value >= 0x7F else { return value < 0x20 }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator: return true
        default:
            // U+2800 is a pattern of Braille without a dot: a symbol, and blank.
            return properties.isDefaultIgnorableCodePoint || properties.isNoncharacterCodePoint
                || value == 0x2800
        }
    }

    /// Whether it is a blank: it takes space on the line.
    package var isOddBlank: Bool {
        value == 0x2800 || (value > 0x20 && properties.generalCategory == .spaceSeparator)
    }

    /// Whether it is drawn over, under or around the character before it.
    var isMark: Bool {
        guard value >= 0x300 else { return false }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return !isUnseen
        default: return false
        }
    }

    /// Whether marks belong to it; over any other they make another character of what stands there.
    fileprivate var takesMarks: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber, .otherSymbol:
            true
        default: false
        }
    }

    /// The end of `it has …` about one of ``StringProtocol/unseenScalars``.
    package var unseenText: String {
        "U+\(hexadecimal), which \(isMark ? "is drawn over the character before it" : "no one sees")"
    }

    /// Its number as Unicode writes it: `200B`.
    var hexadecimal: String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether what it does is seen where it stands: it joins or colours emoji, or groups the digits of a number.
    fileprivate func isSeen(after before: Unicode.Scalar?, before next: Unicode.Scalar?) -> Bool {
        switch value {
        case 0x200D: before.map { $0.isEmoji || $0.isEmojiStyle } ?? false && next?.isEmoji ?? false
        // Before U+20E3 it makes a key of a digit.
        case 0xFE0E, 0xFE0F: before?.isEmoji ?? false || before?.isOfKey ?? false && next?.value == 0x20E3
        case 0x202F: before?.isDigit ?? false && next?.isDigit ?? false
        default: false
        }
    }

    /// Beyond ASCII: digits are emoji, too.
    private var isEmoji: Bool { value > 0x7F && properties.isEmoji }
    private var isEmojiStyle: Bool { value == 0xFE0E || value == 0xFE0F }
    private var isOfKey: Bool { isDigit || self == "#" || self == "*" }
    private var isDigit: Bool { (0x30...0x39).contains(value) }
}

/// Finds marks that belong to no letter, or are one too many, in a text that it is shown scalar by scalar.
package struct LoneMarks {
    /// More than any script puts on one letter.
    private static let most = 8

    private var before: Unicode.Scalar?
    private var count = 0

    package init() {}

    /// Takes the next scalar of the text; whether it is such a mark.
    package mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.isMark else {
            (before, count) = (scalar, 0)
            return false
        }
        count += 1
        guard count <= Self.most, before?.takesMarks == true else {
            before = nil
            return true
        }
        before = scalar
        return false
    }

    /// Another text stands in the place of the last scalar.
    package mutating func escaped() { before = nil }
}

extension StringProtocol {
    /// The characters that no one sees where they stand, or that change those around them, in their order.
    package var unseenScalars: [Unicode.Scalar] {
        guard unicodeScalars.contains(where: { $0.isUnseen || $0.isMark }) else { return [] }
        var found: [Unicode.Scalar] = []
        _ = escapingUnseen { scalar in
            found.append(scalar)
            return ""
        }
        return found
    }

    /// The text with another one in the place of each character that no one sees there, and of each mark that belongs to
    /// no letter, or is one too many.
    ///
    /// - Parameters:
    ///   - isKept: Characters that stay, for instance the ends of lines.
    ///   - escape: What stands in its place.
    package func escapingUnseen(
        except isKept: (Unicode.Scalar) -> Bool = { _ in false }, as escape: (Unicode.Scalar) -> String
    ) -> String {
        guard unicodeScalars.contains(where: { ($0.isUnseen || $0.isMark) && !isKept($0) }) else {
            return String(self)
        }
        var text = ""
        var lone = LoneMarks()
        var before: Unicode.Scalar?
        var rest = unicodeScalars[...]
        while let scalar = rest.popFirst() {
            let isLone = lone.take(scalar)
            let isUnseen = scalar.isUnseen && !scalar.isSeen(after: before, before: rest.first)
            if isLone || isUnseen, !isKept(scalar) {
                text += escape(scalar)
                before = nil
                lone.escaped()
            } else {
                text.unicodeScalars.append(scalar)
                before = scalar
            }
        }
        return text
    }
}
