import WaypostMessages

/// Text in columns, with two spaces between them, whose size does not depend on who sent what.
///
/// A column is as wide as its widest cell up to a bound: one long cell must not make the rows of all others longer.
/// On a terminal no line is wider than it: the columns that matter least are left out, and the last one, which always
/// stays, gets the space that the others leave. Elsewhere nothing is left out and nothing is cut.
struct TextTable {
    /// The longest cell; the problems of an agent that is red take a few hundred.
    private static let maximumCell = 1_000
    /// The widest column; longer cells stick out of it, or are cut on a terminal.
    private static let maximumWidth = 80
    /// What a column keeps on the narrowest terminal.
    private static let minimumWidth = 8

    /// A column by its head.
    struct Column {
        var head: String
        /// The column with the highest number is the first to be left out; one without a number always stays.
        var expendability: Int?

        init(_ head: String, expendability: Int? = nil) {
            (self.head, self.expendability) = (head, expendability)
        }
    }

    let columns: [Column]
    /// The cells of each row, one for each column, as ``cell(_:)`` makes them.
    let rows: [[String]]

    /// The lines of the head, then those of each row: one unless cells are wrapped.
    ///
    /// - Parameters:
    ///   - width: of the terminal; nil where there is none.
    ///   - wraps: whether what does not fit goes on below it, in its column, rather than being cut.
    func lines(within width: Int?, wraps: Bool = false) -> [[String]] {
        let natural = columns.indices.map { column in
            rows.reduce(columns[column].head.columns) { max($0, $1[column].columns) }
        }
        let heads = columns.map(\.head)
        guard let width, let last = columns.indices.last else {
            let widths = natural.map { min(Self.maximumWidth, $0) }
            return ([heads] + rows).map { row in
                [Self.joined(zip(row, widths).map { $0.padding(to: $1, atLeast: 0) })]
            }
        }
        let (shown, widths) = layout(natural, last, width)
        return ([heads] + rows).map { row in
            let cells = zip(shown, widths).map { column, width in
                wraps ? row[column].wrapped(to: width) : [row[column].fitted(to: width)]
            }
            return (0..<(cells.map(\.count).max() ?? 0)).map { line in
                Self.joined(
                    zip(cells, widths).map {
                        ($0.indices.contains(line) ? $0[line] : "").padding(to: $1, atLeast: 0)
                    })
            }
        }
    }

    /// The columns that fit into the width, and the width of each.
    private func layout(_ natural: [Int], _ last: Int, _ width: Int) -> (shown: [Int], widths: [Int]) {
        // The last column holds what one came for, such as problems; it gets half of the terminal when it needs it.
        let rest = min(natural[last], max(width / 2, Self.minimumWidth))
        var shown = Array(columns.indices)
        var widths = natural.map { min(Self.maximumWidth, $0) }
        func others() -> Int { shown.dropLast().reduce(0) { $0 + widths[$1] + 2 } }
        while others() + rest > width,
            let least = shown.dropLast().filter({ columns[$0].expendability != nil })
                .max(by: { columns[$0].expendability ?? 0 < columns[$1].expendability ?? 0 })
        {
            shown.removeAll { $0 == least }
        }
        while others() + rest > width, let widest = shown.dropLast().max(by: { widths[$0] < widths[$1] }),
            widths[widest] > Self.minimumWidth
        {
            widths[widest] -= 1
        }
        widths[last] = max(min(rest, Self.minimumWidth), width - others())
        return (shown, shown.map { widths[$0] })
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

extension TextTable {
    /// The longest name in front of a text.
    private static let maximumName = 64
    /// The most names with texts in one list; a person reads fewer.
    private static let maximumEntries = 100
    /// What a text gets on the narrowest terminal.
    private static let minimumText = 20

    /// A name and what to say of it.
    struct Entry {
        var name: String
        var text: String
        var isProblem = false
    }

    /// The texts one below the other, behind their names; of many the first, and how many are left out.
    ///
    /// - Parameter width: of the terminal: a longer text goes on below itself; nil where there is none.
    static func lines(
        _ entries: [Entry], indent: Int = 2, _ style: Style = Style(isOn: false), within width: Int? = nil
    ) -> [TerminalText] {
        let shown = entries.prefix(maximumEntries)
        let names = shown.map { cell($0.name, to: maximumName) }
        let nameWidth = names.map(\.columns).max() ?? 0
        let margin = String(repeating: " ", count: indent)
        let below = String(repeating: " ", count: indent + nameWidth + 2)
        let space = width.map { max(minimumText, $0 - indent - nameWidth - 2) }
        let lines: [TerminalText] = zip(names, shown).flatMap { name, entry in
            let text = cell(entry.text)
            return (space.map(text.wrapped) ?? [text]).enumerated().map { number, part -> TerminalText in
                let shown = entry.isProblem ? style.red(TerminalText(part)) : TerminalText(part)
                return number == 0
                    ? "\(margin)\(name.padding(to: nameWidth + 2))\(shown)" : "\(below)\(shown)"
            }
        }
        let hidden = entries.count - shown.count
        return lines + (hidden > 0 ? ["\(margin)… and \(hidden) more"] : [])
    }
}
