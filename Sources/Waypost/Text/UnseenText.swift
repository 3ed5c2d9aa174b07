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

    /// Whether it is a blank: it leaves room, and is no space.
    package var isOddBlank: Bool {
        value == 0x2800 || (value > 0x20 && properties.generalCategory == .spaceSeparator)
    }

    /// Its number as Unicode writes it: `200B`.
    package var hexadecimal: String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether what it does is seen where it stands: it joins or colours emoji, or groups the digits of a number.
    fileprivate func isSeen(after before: Unicode.Scalar?, before next: Unicode.Scalar?) -> Bool {
        switch value {
        case 0x200D: before.map { $0.isEmoji || $0.isEmojiStyle } ?? false && next?.isEmoji ?? false
        case 0xFE0E, 0xFE0F: before?.isEmoji ?? false
        case 0x202F: before?.isDigit ?? false && next?.isDigit ?? false
        default: false
        }
    }

    /// Beyond ASCII: digits are emoji, too.
    private var isEmoji: Bool { value > 0x7F && properties.isEmoji }
    private var isEmojiStyle: Bool { value == 0xFE0E || value == 0xFE0F }
    private var isDigit: Bool { (0x30...0x39).contains(value) }
}

extension StringProtocol {
    /// The characters that no one sees where they stand, in their order.
    package var unseenScalars: [Unicode.Scalar] {
        guard unicodeScalars.contains(where: \.isUnseen) else { return [] }
        var found: [Unicode.Scalar] = []
        _ = escapingUnseen { scalar in
            found.append(scalar)
            return ""
        }
        return found
    }

    /// The text with another one in the place of each character that no one sees there.
    ///
    /// - Parameters:
    ///   - isKept: Characters that stay, for instance the ends of lines.
    ///   - escape: What stands in its place.
    package func escapingUnseen(
        except isKept: (Unicode.Scalar) -> Bool = { _ in false }, as escape: (Unicode.Scalar) -> String
    ) -> String {
        guard unicodeScalars.contains(where: { $0.isUnseen && !isKept($0) }) else { return String(self) }
        var text = ""
        var before: Unicode.Scalar?
        var rest = unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar.isUnseen, !isKept(scalar), !scalar.isSeen(after: before, before: rest.first) {
                text += escape(scalar)
                before = nil
            } else {
                text.unicodeScalars.append(scalar)
                before = scalar
            }
        }
        return text
    }
}
