import Waypost
import WaypostBackend
import WaypostMessages

/// The failures that came while the console watched, as they are grouped by `waypost failures`, and over time.
struct FailureBook: Sendable {
    /// More agents are not on one broker; of further ones only the sums are known.
    private static let maximumAgents = 100_000

    private(set) var groups = FailureGroups()
    private var minutesOfGroups: [FailureGroup.Key: MinuteCounts] = [:]
    private var minutesOfAgents: [String: MinuteCounts] = [:]
    private var minutesOfAll = MinuteCounts()
    private(set) var total: Int64 = 0

    /// - Parameters:
    ///   - first: When the first of them happened, by this machine's clock in milliseconds since 1970.
    ///   - last: When the last one did, not before.
    mutating func add(_ report: FailureReport, of agent: String, from first: Int64, through last: Int64) {
        let count = max(1, report.count)
        total.add(clamping: count)
        minutesOfAll.add(count, from: first, through: last)
        if minutesOfAgents[agent] != nil || minutesOfAgents.count < Self.maximumAgents {
            minutesOfAgents[agent, default: MinuteCounts()].add(count, from: first, through: last)
        }
        guard let key = groups.add(report, of: agent) else { return }
        minutesOfGroups[key, default: MinuteCounts()].add(count, from: first, through: last)
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

    private var known: [String: (count: Int64, last: Int64)] = [:]
    private var order: [String] = []

    /// How many of its failures are new, as they are counted up under one id; and when the last one of the others
    /// happened, by the agent's clock in milliseconds since 1970, nil when there are no others.
    mutating func news(of report: FailureReport, _ agent: String) -> (count: Int64, after: Int64?) {
        defer { assert(known.count == order.count && order.count <= Self.capacity) }
        let count = max(1, report.count)
        guard !report.id.isEmpty else { return (count, nil) }
        let key = "\(agent)/\(report.id.cut(to: SeenText.name))"
        if let old = known[key] {
            known[key] = (max(old.count, count), max(old.last, report.last))
            return (max(0, count.subtracting(clamping: old.count)), old.last)
        }
        if order.count >= Self.capacity {
            for old in order.prefix(Self.capacity / 4) { known[old] = nil }
            order.removeFirst(Self.capacity / 4)
        }
        order.append(key)
        known[key] = (count, report.last)
        return (count, nil)
    }
}
