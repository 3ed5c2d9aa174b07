import Waypost
import WaypostBackend
import WaypostMessages

/// A window of the list of agents, and what is wrong with the fleet at a glance.
struct FleetView: Sendable {
    /// What the list can be sorted by.
    enum Order: String, Sendable, CaseIterable {
        case attention, name, since, version, map, heard, failures
    }

    /// The most rows of one answer.
    static let maximumRows = 200

    var filter = ""
    /// Empty for all; the keys of ``AgentStatus/Condition``.
    var states: Set<String> = []
    var group: String?
    var version: String?
    /// Only agents with this problem.
    var problem: String?
    var order = Order.attention
    var isDescending = false
    var offset = 0
    var limit = 100

    init() {}

    /// Reads the parameters of a request.
    ///
    /// - Throws: ``ViewError`` naming the one that makes no sense.
    init(_ query: QueryItems) throws(ViewError) {
        filter = query["filter"] ?? ""
        states = Set((query["state"] ?? "").split(separator: ",").map(String.init))
        let keys = AgentStatus.Condition.all.map(\.key)
        if let unknown = states.first(where: { !keys.contains($0) }) {
            throw .invalid("state \(unknown.quoted) is none of \(keys.joined(separator: ", "))")
        }
        group = query["group"]
        version = query["version"]
        problem = query["problem"]
        if let text = query["sort"] {
            guard let order = Order(rawValue: text) else {
                throw .invalid(
                    "sort \(text.quoted) is none of \(Order.allCases.map(\.rawValue).joined(separator: ", "))"
                )
            }
            self.order = order
        }
        isDescending = query["desc"] == "1"
        offset = try query.number("offset", in: 0...10_000_000) ?? 0
        limit = try query.number("limit", in: 1...Self.maximumRows) ?? 100
    }

    func json(
        of state: FleetState, isComplete: Bool, gap: String? = nil, asOf: Int64, now: Int64
    ) -> JSONValue {
        let words = filter.lowercased()
        let chosen = state.rows.values.filter { row in holds(for: row, words, state) }
        let sorted = sort(chosen, state, now)
        var counts = Dictionary(uniqueKeysWithValues: AgentStatus.Condition.all.map { ($0.key, Int64(0)) })
        for row in state.rows.values { counts[row.summary.condition.key, default: 0] += 1 }
        return [
            "revision": .int(state.revision), "asOf": .int(asOf), "complete": .bool(isComplete),
            "gap": .init(gap),
            "total": .int(Int64(state.rows.count)), "matched": .int(Int64(sorted.count)),
            "counts": .object(counts.mapValues(JSONValue.int)),
            "problems": .array(problems(of: chosen).map(\.json)),
            "versions": versions(of: state), "groups": groups(of: state),
            "rows": .array(
                sorted.dropFirst(offset).prefix(limit).map { Self.json(of: $0, state, now: now) }),
        ]
    }

    private func holds(for row: FleetState.Row, _ words: String, _ state: FleetState) -> Bool {
        let summary = row.summary
        return (states.isEmpty || states.contains(summary.condition.key))
            && (group.map { state.members[summary.name]?.isIn($0) ?? false } ?? true)
            && (version.map { $0 == summary.version } ?? true)
            && (problem.map { $0 == Problem.text(of: summary) } ?? true)
            && (words.isEmpty
                || [summary.name, summary.problem, summary.version, summary.map, summary.condition.word]
                    .contains { $0.lowercased().contains(words) }
                || state.members[summary.name]?.health.map { Self.hasFact(words, $0) } ?? false)
    }

    /// Whether it says of itself that: `region=eu`, its app's version, its language.
    private static func hasFact(_ words: String, _ health: Health) -> Bool {
        [health.build, health.client["locale"]?.stringValue].contains {
            $0?.lowercased().contains(words) ?? false
        }
            || health.labels.contains { "\($0.key)=\($0.value)".lowercased().contains(words) }
    }

    private func sort(_ rows: [FleetState.Row], _ state: FleetState, _ now: Int64) -> [FleetState.Row] {
        func by<Key: Comparable>(_ key: (FleetState.Row) -> Key) -> [FleetState.Row] {
            // The key of each is made once.
            let keyed = rows.map { (key: key($0), row: $0) }
            return keyed.sorted { ($0.key, $0.row.summary.name) < ($1.key, $1.row.summary.name) }.map(\.row)
        }
        let sorted =
            switch order {
            case .attention: by { $0.summary.condition }
            case .name: by(\.summary.name)
            // The newest first, as what has changed last is what one looks for.
            case .since: by { Int64(0).subtracting(clamping: $0.summary.since ?? .min) }
            case .version: by(\.summary.version)
            case .map: by(\.summary.map)
            case .heard: by { Int64(0).subtracting(clamping: $0.heard ?? $0.summary.asOf ?? 0) }
            case .failures:
                by { -(state.failures.minutes(of: $0.summary.name, at: now)?.reduce(0, +) ?? 0) }
            }
        return isDescending ? sorted.reversed() : sorted
    }

    static func json(of row: FleetState.Row, _ state: FleetState, now: Int64) -> JSONValue {
        let summary = row.summary
        let minutes = state.failures.minutes(of: summary.name, at: now)
        return [
            "agent": .string(summary.name), "condition": .string(summary.condition.key),
            "state": .string(summary.state), "since": .init(summary.since),
            "sinceAtLeast": .bool(summary.isSinceAtLeast), "version": .string(summary.version),
            "map": .string(summary.map), "heard": .init(row.heard ?? summary.asOf),
            "groups": .array(summary.groups.map(JSONValue.string)),
            "problem": .string(summary.problemText(now)),
            "failures": state.json(ofMinutes: minutes ?? [], at: now),
        ]
    }

    // MARK: Summaries

    /// Agents that have the same problem.
    private struct Problem {
        /// More names are only counted.
        static let maximumNames = 5
        static let maximum = 50
        /// A text that differs from agent to agent behind this many bytes is one problem.
        static let maximumText = 300

        var text: String
        var condition: AgentStatus.Condition
        var count = 0
        var agents: [String] = []
        var since: Int64?

        static func text(of summary: AgentStatus) -> String {
            guard summary.problem.isEmpty else { return summary.problem.cut(to: maximumText) }
            return switch summary.condition {
            case .lost: "the connection was lost"
            case .unknown: "what the broker keeps does not tell"
            default: summary.condition.word
            }
        }

        var json: JSONValue {
            [
                "text": .string(text), "condition": .string(condition.key), "count": .int(Int64(count)),
                "agents": .array(agents.sorted().map(JSONValue.string)), "since": .init(since),
            ]
        }
    }

    private func problems(of rows: [FleetState.Row]) -> [Problem] {
        var found: [String: Problem] = [:]
        for case let summary in rows.lazy.map(\.summary)
        where summary.condition.isTrouble || summary.condition == .unknown {
            let text = Problem.text(of: summary)
            var problem = found[text] ?? Problem(text: text, condition: summary.condition)
            problem.condition = min(problem.condition, summary.condition)
            problem.count += 1
            if problem.agents.count < Problem.maximumNames { problem.agents.append(summary.name) }
            problem.since = [problem.since, summary.since].compactMap(\.self).min()
            found[text] = problem
        }
        return Array(
            found.values.sorted {
                ($0.condition, -$0.count, $0.text) < ($1.condition, -$1.count, $1.text)
            }
            .prefix(Problem.maximum))
    }

    private func versions(of state: FleetState) -> JSONValue {
        var found: [String: (count: Int64, problems: Int64)] = [:]
        for row in state.rows.values {
            let isTrouble = row.summary.condition.isTrouble
            let known = found[row.summary.version] ?? (0, 0)
            found[row.summary.version] = (known.count + 1, known.problems + (isTrouble ? 1 : 0))
        }
        return .array(
            found.sorted { ($0.value.count, $0.key) > ($1.value.count, $1.key) }.prefix(50).map {
                [
                    "version": .string($0.key), "count": .int($0.value.count),
                    "problems": .int($0.value.problems),
                ]
            })
    }

    private func groups(of state: FleetState) -> JSONValue {
        var found: [String: Int64] = [:]
        for row in state.rows.values {
            for group in row.summary.groups { found[group, default: 0] += 1 }
        }
        return .array(
            found.sorted { $0.key < $1.key }.prefix(500).map {
                ["group": .string($0.key), "count": .int($0.value)]
            })
    }
}
