import Waypost

/// Text that a terminal shows and does not obey.
///
/// What comes from outside is escaped in it, whatever it holds; only fixed codes of our own, such as colours, pass.
/// ``Terminal`` prints nothing else but this and JSON.
struct TerminalText: Sendable, Hashable {
    private(set) var text: String

    /// The text with everything escaped that a terminal could obey or no one sees, also line breaks.
    init(_ text: some StringProtocol) { self.text = text.printable }

    /// The text of several lines: line breaks and tabs stay, everything else is escaped.
    init(lines text: String) {
        self.text = text.escapingUnseen(except: \.isOfLines, as: \.inBraces)
    }

    /// An XML document: what a terminal could obey becomes a character reference.
    init(xml text: String) {
        self.text = text.escapingUnseen(except: \.isOfLines) { "&#x\(String($0.value, radix: 16));" }
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
    /// The text with everything escaped that a terminal could obey or no one sees, also line breaks.
    var printable: String { escapingUnseen(as: \.inBraces) }
}

extension Unicode.Scalar {
    /// Whether it is printed nowhere: ``isUnseen``, but what may be seen between others.
    var isUnsafeForTerminal: Bool { isUnseen && ![0x200D, 0xFE0E, 0xFE0F, 0x202F].contains(value) }

    fileprivate var isOfLines: Bool { self == "\n" || self == "\t" }
    /// `\u{200B}`, or `\n`.
    fileprivate var inBraces: String { escaped(asASCII: true) }
}
