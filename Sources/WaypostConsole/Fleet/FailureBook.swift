import Waypost
import WaypostBackend
import WaypostMessages

/// The failures that came while the console watched, as they are grouped by `waypost failures`, and over time.
struct FailureBook: Sendable {
    private(set) var groups = FailureGroups()
    private var minutesOfGroups: [FailureGroup.Key: MinuteCounts] = [:]
    private var minutesOfAgents: [String: MinuteCounts] = [:]
    private var minutesOfAll = MinuteCounts()
    private(set) var total: Int64 = 0

    mutating func add(_ report: FailureReport, of agent: String, at now: Int64) {
        let count = max(1, report.count)
        total = total.addingReportingOverflow(count).partialValue
        minutesOfAll.add(count, at: now)
        minutesOfAgents[agent, default: MinuteCounts()].add(count, at: now)
        guard let key = groups.add(report, of: agent) else { return }
        minutesOfGroups[key, default: MinuteCounts()].add(count, at: now)
    }

    func minutes(at now: Int64) -> [Int64] { minutesOfAll.values(at: now) }

    /// Nil for an agent without failures.
    func minutes(of agent: String, at now: Int64) -> [Int64]? { minutesOfAgents[agent]?.values(at: now) }

    func minutes(of group: FailureGroup, at now: Int64) -> [Int64] {
        minutesOfGroups[group.key]?.values(at: now) ?? []
    }
}

/// The reports that came already: one that was not acknowledged in time comes again.
struct SeenReports: Sendable {
    private static let capacity = 4_096

    private var counts: [String: Int64] = [:]
    private var order: [String] = []

    /// How many of its failures are new: they are counted up under one id.
    mutating func news(of report: FailureReport, _ agent: String) -> Int64 {
        let count = max(1, report.count)
        guard !report.id.isEmpty else { return count }
        let key = "\(agent)/\(report.id)"
        if let known = counts[key] {
            counts[key] = max(known, count)
            return max(0, count - known)
        }
        if order.count >= Self.capacity {
            for old in order.prefix(Self.capacity / 4) { counts[old] = nil }
            order.removeFirst(Self.capacity / 4)
        }
        order.append(key)
        counts[key] = count
        return count
    }
}
