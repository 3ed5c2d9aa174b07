public import Waypost
package import WaypostMessages

/// Failures of the past that have the same code, URL and map revision.
public struct FailureGroup: Sendable {
    /// The longest text of a group, in bytes: an agent cuts its own there.
    fileprivate static let maximumText = 2_048

    /// What its failures have in common.
    package struct Key: Sendable, Hashable {
        fileprivate var code: Code
        fileprivate var subject: String
        fileprivate var map: FailureReport.MapInForce?
    }

    package let key: Key
    /// The URL without its parameters; the detail where there is no URL.
    public var subject: String { key.subject }
    /// What happened, for code to act on.
    public var code: Code { key.code }
    /// The uppermost map with a revision when it happened; nil when there was none.
    public var map: (layer: String, revision: Int64)? { key.map.map { ($0.layer, $0.revision) } }
    /// Whether the subject is a URL.
    public let hasURL: Bool
    /// What was found at the latest of them, for people.
    public private(set) var detail: String
    /// How often it happened.
    public private(set) var count: Int64 = 0
    /// When it happened first, in milliseconds since 1970.
    public private(set) var first = Int64.max
    /// When it happened last.
    public private(set) var last = Int64.min
    /// The names of the agents; see ``hasMoreAgents``.
    public private(set) var agents: Set<String> = []
    /// Whether there are more agents than are named.
    public private(set) var hasMoreAgents = false

    fileprivate init(_ key: Key, _ report: FailureReport) {
        (self.key, hasURL) = (key, report.url != nil)
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

/// Failures of the past, grouped by code, URL and map in force.
public struct FailureGroups: Sendable {
    /// Further groups are not kept; more than anyone reads.
    private static let maximum = 10_000
    /// The most bytes that their texts may have.
    private static let maximumBytes = 32 << 20

    private let maximumAgents: Int
    private var groups: [FailureGroup.Key: FailureGroup] = [:]
    private var bytes = 0
    /// Whether there are more groups than are kept.
    public private(set) var isFull = false

    /// None yet.
    ///
    /// - Parameter maximumAgents: How many agents are named of a group.
    public init(maximumAgents: Int = 100) { self.maximumAgents = maximumAgents }

    /// Adds a failure to its group.
    public mutating func add(_ failure: AgentFailure) { add(failure.report, of: failure.agent) }

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

    /// Whether there is none.
    public var isEmpty: Bool { groups.isEmpty }

    /// The group with the latest failure first.
    public var sorted: [FailureGroup] {
        groups.values.sorted { ($0.last, $0.subject) > ($1.last, $1.subject) }
    }
}
