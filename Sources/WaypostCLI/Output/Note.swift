import Waypost

/// A line about the program itself, for standard error.
enum Note {
    case text(TerminalText)
    case json(JSONValue)

    /// The line with its newline, and with nothing in it that a terminal obeys.
    var bytes: [UInt8] {
        switch self {
        case .text(let line): Array("\(line.text)\n".utf8)
        case .json(let value): TerminalJSON.escaped(value.serialized() + [UInt8(ascii: "\n")])
        }
    }
}
