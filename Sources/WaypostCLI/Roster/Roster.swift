import MQTTLink
import Waypost
import WaypostMessages

/// The agents at a broker, from their retained states and health documents.
struct Roster: Sendable {
    /// One agent.
    struct Member: Sendable {
        var state: AgentState?
        var stateJSON: JSONValue?
        var health: Health?
        var healthJSON: JSONValue?
        /// The map in force, from `map/applied`.
        var map: JSONValue?
        /// What the documents weigh, see ``JSONValue/weight``.
        fileprivate var stateBytes = 0
        fileprivate var healthBytes = 0
        fileprivate var mapBytes = 0

        /// Whether it is there; nil when that is not known.
        var isOnline: Bool? { state?.isOnline(withHealthOf: health?.epoch) }
        /// Whether it went by itself.
        var isStopped: Bool { isOnline == false && state?.reason == .shutdown }

        /// Whether it is in that group, as far as it said so.
        func isIn(_ group: String) -> Bool {
            Audience.group(group) == .all || health?.groups.contains(group) ?? false
        }
    }

    let topics: Topics
    /// Whether there are more agents than are kept.
    private(set) var isFull = false
    private(set) var members: [String: Member] = [:]
    private let maximumMembers: Int
    private let maximumBytes: Int
    private var bytes = 0

    /// - Parameters:
    ///   - maximumMembers: further agents are not kept; more than one broker serves.
    ///   - maximumBytes: the most that the documents may take together as they are held; those of an agent take some
    ///     20 KiB.
    init(topics: Topics, maximumMembers: Int = 100_000, maximumBytes: Int = 2 << 30) {
        self.topics = topics
        self.maximumMembers = maximumMembers
        self.maximumBytes = maximumBytes
    }

    /// Takes note of a message that may be about presence.
    mutating func saw(_ message: MQTTMessage) {
        guard let (agent, content) = topics.outbound(message.topic), let json = message.json else { return }
        let size = json.weight
        guard members[agent] != nil || members.count < maximumMembers, bytes + size <= maximumBytes
        else {
            isFull = true
            return
        }
        switch content {
        case .state:
            let state = try? AgentState(json)
            guard state?.isNews(after: members[agent]?.state) != false else { return }
            members[agent, default: Member()].state = state
            members[agent]?.stateJSON = json
            bytes += size - (members[agent]?.stateBytes ?? 0)
            members[agent]?.stateBytes = size
        case .health:
            members[agent, default: Member()].health = Health(json)
            members[agent]?.healthJSON = json
            bytes += size - (members[agent]?.healthBytes ?? 0)
            members[agent]?.healthBytes = size
        case .applied:
            members[agent, default: Member()].map = json
            bytes += size - (members[agent]?.mapBytes ?? 0)
            members[agent]?.mapBytes = size
        case .reply, .log, .failure, .routes, .contract, .navigation:
            break
        }
    }

    /// What is known of one agent alone.
    func only(_ agent: String) -> Roster {
        var roster = self
        roster.members = members.filter { $0.key == agent }
        return roster
    }

    /// One JSON object an agent, by name.
    var json: [JSONValue] {
        members.keys.sorted().map(json)
    }

    /// The JSON object of one agent; null when there is no such agent.
    func json(of agent: String) -> JSONValue {
        guard let member = members[agent] else { return .null }
        return [
            "agent": .string(agent), "online": member.isOnline.map(JSONValue.bool) ?? .null,
            "state": member.stateJSON ?? .null,
            "health": member.healthJSON ?? .null, "map": member.map ?? .null,
        ]
    }

    /// A line of the table.
    struct Row: Sendable {
        /// Escaped already, for the widths of the columns count what is shown.
        var text: String
        /// Nil for the head line, as is the condition.
        var agent: String?
        var condition: Condition?

        /// The text, or what fits of it, in the colour of the row.
        func drawn(_ text: TerminalText, _ style: Style) -> TerminalText {
            switch condition {
            case nil: style.bold(text)
            case .healthy: text
            case .lost: style.red(text)
            case .failing, .mapRefused: style.yellow(text)
            case .stopped, .unknown: style.dim(text)
            }
        }
    }

    /// A table for people, head line first.
    func table(_ style: Style, now: Int64 = WallClock.now(), isWide: Bool = false) -> [TerminalText] {
        rows(now: now, isWide: isWide).map { $0.drawn(TerminalText($0.text), style) }
    }

    /// The row of one agent with nothing but a space between the cells; nil when there is no such agent.
    func line(of agent: String, _ style: Style, now: Int64, isWide: Bool) -> TerminalText? {
        guard let member = members[agent] else { return nil }
        let cells = Self.row(agent, member, member.condition, now) + (isWide ? Self.further(member, now) : [])
        let row = Row(
            text: TextTable.joined(cells.map(TextTable.cell)), agent: agent, condition: member.condition)
        return row.drawn(TerminalText(row.text), style)
    }

    /// What is to be said of an agent, without times; nil when there is no such agent.
    func news(of agent: String) -> [String]? {
        members[agent].map { member in
            var cells = Self.row(agent, member, member.condition, 0)
            cells.remove(at: 2)
            return cells
        }
    }

    /// The lines of the table, head line first, then the agents that need attention.
    func rows(now: Int64, isWide: Bool = false) -> [Row] {
        let rows = members.map { name, member in
            let condition = member.condition
            let cells = Self.row(name, member, condition, now) + (isWide ? Self.further(member, now) : [])
            return (agent: name, condition: condition, cells: cells.map(TextTable.cell))
        }.sorted { ($0.condition, $0.agent) < ($1.condition, $1.agent) }
        let head =
            ["AGENT", "STATE", "SINCE", "HEALTH", "MAP", "VERSION", "MQTT", "PROBLEM"]
            + (isWide ? ["UP", "GROUPS", "BROKER", "HEALTH OF"] : [])
        let lines = TextTable.lines(head: head, rows: rows.map(\.cells))
        return [Row(text: lines[0])]
            + zip(lines.dropFirst(), rows).map { Row(text: $0, agent: $1.agent, condition: $1.condition) }
    }

    /// The agents that somebody should look at, those in most trouble first, each with its trouble as a sentence.
    func troubles(now: Int64 = WallClock.now()) -> [(agent: String, condition: Condition, text: String)] {
        members.filter { $0.value.condition.isTrouble }
            .sorted { ($0.value.condition, $0.key) < ($1.value.condition, $1.key) }
            .map { name, member in
                let row = Self.row(name, member, member.condition, now).map(TextTable.cell)
                let (since, problem) = (row[2], row[7])
                let text =
                    switch member.condition {
                    case .lost: "its connection was lost \(since)"
                    case .failing: "its health is red: \(problem)"
                    default: problem
                    }
                return (name, member.condition, text)
            }
    }

    /// How much later `now` is; never more than fits.
    private static func difference(_ now: Int64, _ then: Int64) -> Int64 {
        let (span, overflow) = now.subtractingReportingOverflow(then)
        return overflow ? .max : span
    }

    /// The cells of the wide table behind the others.
    private static func further(_ member: Member, _ now: Int64) -> [String] {
        let health = member.health
        let groups = (health?.groups ?? []).joined(separator: ",")
        return [
            member.isOnline == true ? health?.uptime ?? "?" : "-", groups.isEmpty ? "-" : groups,
            member.healthJSON?["broker"]?.stringValue ?? "?",
            health?.at.map { "\(TimeText.span(difference(now, $0))) ago" } ?? "?",
        ]
    }

    private static func row(
        _ name: String, _ member: Member, _ condition: Condition, _ now: Int64
    ) -> [String] {
        let health = member.health
        let state =
            switch condition {
            // A late will does not count, so the word may be that of an agent that is online after all.
            case .failing, .mapRefused, .healthy:
                member.state.flatMap { $0.isOnline ? $0.state : nil } ?? "online"
            case .lost: "lost"
            case .stopped: "shut down"
            case .unknown: "unknown"
            }
        let isOnline = member.isOnline ?? false
        // A will has no time of its own: the connection was lost after the last health.
        let since =
            (member.state.map { $0.isOnline == isOnline } == true ? member.state?.at : nil)
            ?? (isOnline ? health?.started : health?.at)
        let map = member.map.map { MapSummary($0) } ?? health?.map
        let problems =
            (isOnline ? (health?.problems ?? []) + [health?.waiting].compactMap(\.self) : [])
            + [map?.refusal].compactMap { $0.map { "map " + $0 } }
        let revisions = map.map { $0.revisions.isEmpty ? "none" : $0.revisions } ?? "?"
        return [
            name, state, since.map { "\(TimeText.span(Self.difference(now, $0))) ago" } ?? "?",
            // What was true before it went is true no more.
            isOnline ? health?.status ?? "?" : "-", revisions,
            member.state?.version ?? "?", member.state?.mqttVersion ?? "?", problems.joined(separator: "; "),
        ]
    }
}

extension Roster {
    /// What an agent is like, by how soon somebody should look.
    enum Condition: Int, Sendable, Comparable {
        case lost, failing, mapRefused, unknown, stopped, healthy

        static func < (one: Condition, other: Condition) -> Bool { one.rawValue < other.rawValue }

        /// Whether somebody should look.
        var isTrouble: Bool { self < .unknown }
    }
}

extension Roster.Member {
    var condition: Roster.Condition {
        switch (isOnline, state?.reason) {
        case (true?, _):
            if health?.isGreen == false { return .failing }
            let refusal = map.map { MapSummary($0).refusal } ?? health?.map.refusal
            return refusal == nil ? .healthy : .mapRefused
        case (false?, .shutdown?): return .stopped
        case (false?, _): return .lost
        case (nil, _): return .unknown
        }
    }
}
