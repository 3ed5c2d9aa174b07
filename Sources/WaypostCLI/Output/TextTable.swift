import WaypostMessages

/// Text in columns, each as wide as its widest cell, with two spaces between them.
enum TextTable {
    /// The longest cell; the problems of an agent that is red take a few hundred.
    private static let maximumCell = 1_000

    /// The lines, the head first.
    static func lines(head: [String], rows: [[String]]) -> [String] {
        let widths = head.indices.map { column in
            rows.reduce(head[column].count) { max($0, $1[column].count) }
        }
        return ([head] + rows).map { row in
            joined(zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) })
        }
    }

    /// The cells side by side, without spaces at the end.
    static func joined(_ cells: [String]) -> String {
        var line = cells.joined(separator: "  ")[...]
        while line.last == " " { line.removeLast() }
        return String(line)
    }

    /// A cell as it is shown: what one agent says of itself must not make the rows of all others longer.
    static func cell(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(maximumCell)
        return (start.endIndex == text.endIndex ? text : String(start) + "…").printable
    }
}

extension String {
    /// With spaces up to a width, at least one.
    func padding(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
