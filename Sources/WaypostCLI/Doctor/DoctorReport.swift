import WaypostMessages

/// All that `waypost doctor` found: a line that sums it up, then the worst first, and last what is only good to know.
struct DoctorReport {
    /// Agents that are named in one line.
    private static let namedAgents = 5

    private(set) var findings: [DoctorFinding]

    init(_ findings: [DoctorFinding] = []) { self.findings = findings }

    mutating func add(_ more: [DoctorFinding]) { findings += more }

    var hasFailed: Bool { findings.contains { $0.status == .failed } }

    /// In the order in which they are shown; of one kind in the order in which they were found.
    var sorted: [DoctorFinding] {
        DoctorFinding.Status.allCases.flatMap { status in findings.filter { $0.status == status } }
    }

    /// Findings that differ only in the agent they are about.
    private struct Group {
        var finding: DoctorFinding
        /// The agents, each with what is said of it alone.
        var agents: [(name: String, remark: String?)]

        func takes(_ other: DoctorFinding) -> Bool {
            finding.check == other.check && finding.status == other.status && finding.found == other.found
                && finding.advice == other.advice && (finding.agent == nil) == (other.agent == nil)
        }
    }

    private var groups: [Group] {
        sorted.reduce(into: []) { groups, finding in
            let agent = finding.agent.map { [($0, finding.remark)] } ?? []
            if let index = groups.lastIndex(where: { $0.takes(finding) }) {
                groups[index].agents += agent
            } else {
                groups.append(Group(finding: finding, agents: agent))
            }
        }
    }

    /// The lines for people.
    func lines(_ style: Style) -> [TerminalText] {
        let groups = groups
        func count(_ status: DoctorFinding.Status) -> Int { groups.count { $0.finding.status == status } }
        let parts = [
            count(.failed) > 0 ? "\(count(.failed)) failed" : "nothing failed",
            count(.warning) > 0 ? count(.warning).counted("warning") : nil,
            count(.skipped) > 0 ? "\(count(.skipped)) not known" : nil, "\(count(.ok)) good",
            count(.note) > 0 ? count(.note).counted("note") : nil,
        ]
        let summary = TerminalText(parts.compactMap(\.self).joined(separator: ", "))
        return [style.bold(summary)] + groups.flatMap { lines($0, style) }
    }

    private func lines(_ group: Group, _ style: Style) -> [TerminalText] {
        let finding = group.finding
        let mark =
            switch finding.status {
            case .failed: style.red("failed   ")
            case .warning: style.yellow("warning  ")
            case .skipped: style.yellow("not known")
            case .ok: style.green("ok       ")
            case .note: style.dim("note     ")
            }
        let named = group.agents.prefix(Self.namedAgents).map { name, remark in
            name + (remark.map { " (\($0))" } ?? "")
        }
        let more = group.agents.count - named.count
        let names = named.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        let text = names.isEmpty ? finding.found : "\(names): \(finding.found)"
        return ["\(mark)  \(finding.check.padding(to: 13))\(text)"]
            + (finding.advice.map { ["\(String(repeating: " ", count: 24))→ \($0)"] } ?? [])
    }
}
