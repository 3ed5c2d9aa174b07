import Waypost
import WaypostMessages

/// All that `waypost doctor` found: a line that sums it up, then the worst first, and last what is only good to know.
struct DoctorReport {
    /// Agents that are named in one line.
    private static let namedAgents = 5
    /// Lines for people; more than a person reads.
    private static let shownGroups = 100
    /// The longest finding or advice, in bytes: it may quote what an agent published.
    private static let maximumText = 1_000

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
        struct Key: Hashable {
            var check: String
            var status: DoctorFinding.Status
            var found: String
            var advice: String?
            var isAboutAgent: Bool
        }

        var finding: DoctorFinding
        /// The agents, each with what is said of it alone.
        var agents: [(name: String, remark: String?)] = []
    }

    private var groups: [Group] {
        var places: [Group.Key: Int] = [:]
        return sorted.reduce(into: []) { groups, finding in
            let key = Group.Key(
                check: finding.check, status: finding.status, found: finding.found, advice: finding.advice,
                isAboutAgent: finding.agent != nil)
            let place = places[key] ?? groups.count
            if place == groups.count { groups.append(Group(finding: finding)) }
            places[key] = place
            if let agent = finding.agent { groups[place].agents.append((agent, finding.remark)) }
        }
    }

    /// The lines for people.
    func lines(_ style: Style) -> [TerminalText] {
        let groups = groups
        func count(_ status: DoctorFinding.Status) -> Int { groups.count { $0.finding.status == status } }
        let parts = [
            count(.failed) > 0 ? "\(count(.failed)) failed" : "nothing failed",
            count(.warning) > 0 ? count(.warning).counted("warning") : nil,
            count(.skipped) > 0 ? "\(count(.skipped)) not known" : nil, "\(count(.ok)) ok",
            count(.note) > 0 ? count(.note).counted("note") : nil,
        ]
        let summary = TerminalText(parts.compactMap(\.self).joined(separator: ", "))
        let more = groups.count - Self.shownGroups
        let rest: [TerminalText] = more > 0 ? ["and \(more) more; all of them: waypost doctor --json"] : []
        return [style.bold(summary)] + groups.prefix(Self.shownGroups).flatMap { lines($0, style) } + rest
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
        let found = finding.found.cut(to: Self.maximumText)
        let text = names.isEmpty ? found : "\(names): \(found)"
        let advice = finding.advice.map { $0.cut(to: Self.maximumText) }
        return ["\(mark)  \(finding.check.padding(to: 13))\(text)"]
            + (advice.map { ["\(String(repeating: " ", count: 24))→ \($0)"] } ?? [])
    }
}
