import WaypostBackend
import WaypostMessages

extension FailureGroups {
    /// A table for people, head line first.
    func table(_ style: Style) -> [TerminalText] {
        let head = ["COUNT", "AGENTS", "FIRST", "LAST", "CODE", "MAP", "URL OR DETAIL"]
        let lines = TextTable.lines(head: head, rows: sorted.map(\.row)).map { TerminalText($0) }
        return lines.enumerated().map { $0.offset == 0 ? style.bold($0.element) : $0.element }
    }
}

extension FailureGroup {
    fileprivate var row: [String] {
        let map = map.map { "\($0.layer) rev \($0.revision)" } ?? "-"
        let agents = "\(agentCount.number)\(agentCount.isAtLeast ? "+" : "")"
        return [
            "\(count)", agents, Timestamp.threadTime(first), Timestamp.threadTime(last), "\(code)", map,
            subject,
        ].map(TextTable.cell)
    }
}
