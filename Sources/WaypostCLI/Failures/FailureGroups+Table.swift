import WaypostBackend
import WaypostMessages

extension FailureGroups {
    /// A table for people, head line first.
    ///
    /// - Parameter width: of the terminal; nil where there is none.
    func table(_ style: Style, within width: Int? = nil, wraps: Bool = false) -> [TerminalText] {
        let table = TextTable(
            columns: [
                .init("COUNT", expendability: 2), .init("AGENTS", expendability: 1),
                .init("FIRST", expendability: 4), .init("LAST", expendability: 3), .init("CODE"),
                .init("MAP", expendability: 5), .init("URL OR DETAIL"),
            ], rows: sorted.map(\.row))
        return table.lines(within: width, wraps: wraps).enumerated().flatMap { number, lines in
            lines.map { number == 0 ? style.bold(TerminalText($0)) : TerminalText($0) }
        }
    }
}

extension FailureGroup {
    fileprivate var row: [String] {
        let map = map.map { "\($0.layer) rev \($0.revision)" } ?? "-"
        return [
            "\(count)", agentText, Timestamp.threadTime(first), Timestamp.threadTime(last), "\(code)", map,
            subject,
        ].map(TextTable.cell)
    }
}
