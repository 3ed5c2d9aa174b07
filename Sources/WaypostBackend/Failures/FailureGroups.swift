package import Waypost
package import WaypostMessages

/// Failures of the past that have the same code, URL and map revision.
package struct FailureGroup: Sendable {
    /// The longest text of a group, in bytes: an agent cuts its own there.
    fileprivate static let maximumText = 2_048

    /// What its failures have in common.
    package struct Key: Sendable, Hashable {
        fileprivate var code: Code
        fileprivate var subject: String
        fileprivate var map: FailureReport.MapInForce?
    }

    package var key: Key { Key(code: code, subject: subject, map: map) }
    package let code: Code
    /// The URL without its parameters; the detail where there is no URL.
    package let subject: String
    package let hasURL: Bool
    package let map: FailureReport.MapInForce?
    package private(set) var detail: String
    package private(set) var count: Int64 = 0
    package private(set) var first = Int64.max
    package private(set) var last = Int64.min
    /// Their names; see ``hasMoreAgents``.
    package private(set) var agents: Set<String> = []
    /// Whether there are more agents than are named.
    package private(set) var hasMoreAgents = false

    fileprivate init(_ key: Key, _ report: FailureReport) {
        (code, subject, hasURL, map) = (key.code, key.subject, report.url != nil, key.map)
        detail = report.detail.cut(to: Self.maximumText)
    }

    /// - Returns: How many bytes it takes more than before.
    fileprivate mutating func add(_ report: FailureReport, of agent: String, atMost maximum: Int, space: Int)
        -> Int
    {
        count.add(clamping: max(1, report.count))
        first = min(first, report.first)
        if report.last > last {
            (last, detail) = (report.last, report.detail.cut(to: Self.maximumText))
        }
        // Under one name are many agents; what the table has for it counts too.
        let size = agent.utf8.count + 48
        guard !agents.contains(agent) else { return 0 }
        guard agents.count < maximum, size <= space else {
            hasMoreAgents = true
            return 0
        }
        agents.insert(agent)
        return size
    }

    /// The agents by name when they are few, else how many they are.
    package var agentText: String {
        if agents.count <= Self.maximumNames { return agents.sorted().joined(separator: ", ") }
        return "\(agents.count)" + (hasMoreAgents ? "+" : "")
    }

    /// The agents that are named; more are counted.
    private static let maximumNames = 3

    package var json: JSONValue {
        [
            "code": .int(Int64(code.number)), "name": .string(code.name),
            "url": hasURL ? .string(subject) : .null, "detail": .string(detail),
            "map": map.map { ["layer": .string($0.layer), "rev": .int($0.revision)] } ?? .null,
            "count": .int(count), "first": .int(first), "last": .int(last),
            "agents": .array(agents.sorted().map { .string($0) }), "moreAgents": .bool(hasMoreAgents),
        ]
    }
}

/// Failures of the past, grouped.
package struct FailureGroups: Sendable {
    /// Further groups are not kept; more than anyone reads.
    private static let maximum = 10_000
    /// The most bytes that their texts may have.
    private static let maximumBytes = 32 << 20

    private let maximumAgents: Int
    private var groups: [FailureGroup.Key: FailureGroup] = [:]
    private var bytes = 0
    /// Whether there are more groups than are kept.
    package private(set) var isFull = false

    /// - Parameter maximumAgents: how many agents are named of a group.
    package init(maximumAgents: Int = 100) { self.maximumAgents = maximumAgents }

    /// - Returns: What its group is known by; nil when that is not kept.
    @discardableResult
    package mutating func add(_ report: FailureReport, of agent: String) -> FailureGroup.Key? {
        // By bytes: a single character can be as long as a message.
        let url = report.url.map {
            String(decoding: $0.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        }
        let subject = (url ?? report.detail).cut(to: FailureGroup.maximumText)
        let key = FailureGroup.Key(code: report.code, subject: subject, map: report.map)
        if groups[key] == nil {
            let size =
                subject.utf8.count + report.code.name.utf8.count + (report.map?.layer.utf8.count ?? 0)
                + FailureGroup.maximumText
            guard groups.count < Self.maximum, bytes + size <= Self.maximumBytes else {
                isFull = true
                return nil
            }
            bytes += size
        }
        bytes += groups[key, default: FailureGroup(key, report)].add(
            report, of: agent, atMost: maximumAgents, space: Self.maximumBytes - bytes)
        return key
    }

    package var isEmpty: Bool { groups.isEmpty }

    /// The group with the latest failure first.
    package var sorted: [FailureGroup] {
        groups.values.sorted { ($0.last, $0.subject) > ($1.last, $1.subject) }
    }
}
