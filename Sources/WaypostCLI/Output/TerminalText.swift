/// Text that a terminal shows and does not obey.
///
/// What comes from outside is escaped in it, whatever it holds; only fixed codes of our own, such as colours, pass.
/// ``Terminal`` prints nothing else but this and JSON.
struct TerminalText: Sendable, Hashable {
    private(set) var text: String

    /// The text with everything escaped that a terminal could obey, also line breaks.
    init(_ text: some StringProtocol) { self.text = text.printable }

    /// The text of several lines: line breaks and tabs stay, everything else is escaped.
    init(lines text: String) {
        self.text = text.escaped { $0 != "\n" && $0 != "\t" && $0.isUnsafeForTerminal }
    }

    /// An XML document: what a terminal could obey becomes a character reference.
    init(xml text: String) {
        self.text = text.escaped(
            where: { $0 != "\n" && $0 != "\t" && $0.isUnsafeForTerminal },
            as: { "&#x\(String($0.value, radix: 16));" })
    }

    /// A fixed sequence of control characters, which is why it must be a literal.
    init(codes: StaticString) { text = codes.description }

    static func + (left: TerminalText, right: TerminalText) -> TerminalText {
        var sum = left
        sum.text += right.text
        return sum
    }
}

extension TerminalText: ExpressibleByStringInterpolation {
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text: String

        init(literalCapacity: Int, interpolationCount: Int) {
            text = ""
            text.reserveCapacity(literalCapacity + interpolationCount * 16)
        }

        mutating func appendLiteral(_ literal: String) { text += literal.printable }
        mutating func appendInterpolation(_ other: TerminalText) { text += other.text }
        mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            text += value.description.printable
        }
    }

    init(stringLiteral literal: String) { self.init(literal) }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
}

extension StringProtocol {
    /// The text with everything escaped that a terminal could obey, also line breaks.
    var printable: String { escaped(where: \.isUnsafeForTerminal) }

    fileprivate func escaped(
        where isUnsafe: (Unicode.Scalar) -> Bool,
        as escape: (Unicode.Scalar) -> String = { $0.escaped(asASCII: true) }
    ) -> String {
        guard unicodeScalars.contains(where: isUnsafe) else { return String(self) }
        var text = ""
        for scalar in unicodeScalars {
            if isUnsafe(scalar) {
                text += escape(scalar)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether it can move the cursor, set colours, break the line, or change how the text around it is read:
    /// C0, DEL, C1, marks of direction, separators of lines, deprecated controls, invisible tags.
    var isUnsafeForTerminal: Bool {
        switch value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x206F,
            0xFFF9...0xFFFB,
            0xE0000...0xE007F:
            true
        default: false
        }
    }
}
