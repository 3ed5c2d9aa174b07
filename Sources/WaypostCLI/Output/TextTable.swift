import WaypostMessages

/// Text in columns, with two spaces between them, whose size does not depend on who sent what.
///
/// A column is as wide as its widest cell up to a bound: one long cell must not make the rows of all others longer.
enum TextTable {
    /// The longest cell; the problems of an agent that is red take a few hundred.
    private static let maximumCell = 1_000
    /// The widest column; longer cells stick out of it.
    private static let maximumWidth = 80
    /// The longest name in front of a text.
    private static let maximumName = 64
    /// The most names with texts in one list; a person reads fewer.
    private static let maximumEntries = 100

    /// A name and what is to be said of it.
    struct Entry {
        var name: String
        var text: String
        var isProblem = false
    }

    /// The lines, the head first.
    static func lines(head: [String], rows: [[String]]) -> [String] {
        let widths = head.indices.map { column in
            min(maximumWidth, rows.reduce(head[column].count) { max($0, $1[column].count) })
        }
        return ([head] + rows).map { row in
            joined(zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) })
        }
    }

    /// The texts one below the other, behind their names; of many the first, and how many are left out.
    static func lines(
        _ entries: [Entry], indent: Int = 2, _ style: Style = Style(isOn: false)
    ) -> [TerminalText] {
        let shown = entries.prefix(maximumEntries)
        let names = shown.map { cell($0.name, to: maximumName) }
        let width = min(maximumWidth, names.map(\.count).max() ?? 0)
        let margin = String(repeating: " ", count: indent)
        let lines: [TerminalText] = zip(names, shown).map { name, entry in
            let text = TerminalText(cell(entry.text))
            return "\(margin)\(name.padding(to: width + 2))\(entry.isProblem ? style.red(text) : text)"
        }
        let hidden = entries.count - shown.count
        return lines + (hidden > 0 ? ["\(margin)… and \(hidden) more"] : [])
    }

    /// The cells side by side, without spaces at the end.
    static func joined(_ cells: [String]) -> String {
        var line = cells.joined(separator: "  ")[...]
        while line.last == " " { line.removeLast() }
        return String(line)
    }

    /// A cell as it is shown: cut with an ellipsis.
    static func cell(_ text: String) -> String { cell(text, to: maximumCell) }

    private static func cell(_ text: String, to maximum: Int) -> String {
        // By scalars: a single character can be as long as a message.
        let start = text.unicodeScalars.prefix(maximum)
        return (start.endIndex == text.endIndex ? text : String(start) + "…").printable
    }
}

extension String {
    /// With spaces up to a width, at least one.
    func padding(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
