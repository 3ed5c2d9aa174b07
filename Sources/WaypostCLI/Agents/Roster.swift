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
        /// What the documents weighed as they came.
        fileprivate var stateBytes = 0
        fileprivate var healthBytes = 0

        /// Whether it is there; nil when that is not known.
        var isOnline: Bool? { state?.isOnline(withHealthOf: health?.epoch) }
    }

    /// More than one broker serves; further ones are not shown, and it says so.
    static let maximumMembers = 10_000

    /// The longest cell of the table; the problems of an agent that is red take a few hundred.
    private static let maximumCell = 1_000

    private let topics: Topics
    /// Whether there are more agents than are kept.
    private(set) var isFull = false
    private(set) var members: [String: Member] = [:]
    private let maximumBytes: Int
    private var bytes = 0

    /// - Parameter maximumBytes: the most that the documents may have together; those of an agent have a few KiB.
    init(topics: Topics, maximumBytes: Int = 64 << 20) {
        self.topics = topics
        self.maximumBytes = maximumBytes
    }

    /// Takes note of a message that may be about presence.
    mutating func saw(_ message: MQTTMessage) {
        guard let (agent, content) = topics.outbound(message.topic), let json = message.json else { return }
        let size = message.payload.count
        guard members[agent] != nil || members.count < Self.maximumMembers, bytes + size <= maximumBytes
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
        case .reply, .applied, .log, .failure, .routes:
            break
        }
    }

    /// One JSON object an agent, by name.
    var json: [JSONValue] {
        members.sorted { $0.key < $1.key }.map { name, member in
            [
                "agent": .string(name), "online": member.isOnline.map(JSONValue.bool) ?? .null,
                "state": member.stateJSON ?? .null,
                "health": member.healthJSON ?? .null,
            ]
        }
    }

    /// A line of the table.
    struct Row: Sendable {
        /// What the row is about.
        enum Tone: Sendable {
            case head, good, bad, gone
        }

        /// Escaped already, for the widths of the columns count what is shown.
        var text: String
        var tone: Tone

        /// The text, or what fits of it, in the colour of the row.
        func drawn(_ text: TerminalText, _ style: Style) -> TerminalText {
            switch tone {
            case .head: style.bold(text)
            case .good: text
            case .bad: style.yellow(text)
            case .gone: style.dim(text)
            }
        }
    }

    /// A table for people, head line first.
    func table(_ style: Style, now: Int64 = WallClock.now()) -> [TerminalText] {
        rows(now: now).map { $0.drawn(TerminalText($0.text), style) }
    }

    /// The lines of the table, head line first.
    func rows(now: Int64) -> [Row] {
        let rows = members.sorted { $0.key < $1.key }.map { Self.row($0.key, $0.value, now).map(Self.cell) }
        let all = [["AGENT", "STATE", "SINCE", "VERSION", "MQTT", "MAP", "HEALTH"]] + rows
        let widths = all[0].indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.enumerated().map { index, row in
            let line = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
                .joined(separator: "  ").trimmed
            let tone: Row.Tone =
                index == 0 ? .head : row[1] != "online" ? .gone : row[6] == "green" ? .good : .bad
            return Row(text: line, tone: tone)
        }
    }

    /// A cell as it is shown: what one agent says of itself must not make the rows of all others longer.
    private static func cell(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(maximumCell)
        return (start.endIndex == text.endIndex ? text : String(start) + "…").printable
    }

    /// How much later `now` is; never more than fits.
    private static func difference(_ now: Int64, _ then: Int64) -> Int64 {
        let (span, overflow) = now.subtractingReportingOverflow(then)
        return overflow ? .max : span
    }

    private static func row(_ name: String, _ member: Member, _ now: Int64) -> [String] {
        let isOnline = member.isOnline ?? false
        let state =
            switch (member.isOnline, member.state?.reason) {
            case (true?, _):
                // A late will does not count, so the word may be that of an agent that is online after all.
                member.state.flatMap { $0.isOnline ? $0.state : nil } ?? "online"
            case (false?, .shutdown?): "shut down"
            case (false?, _): "lost"
            case (nil, _): "unknown"
            }
        // The state has no time of its own: health has the start, and an end is after the last health.
        let since =
            isOnline
            ? member.health?.started.map(Timestamp.local) ?? "?"
            : member.health?.at.map { "heard \(Health.span(Self.difference(now, $0))) ago" } ?? "?"
        let health = member.health
        let problems = health?.problems.joined(separator: "; ") ?? ""
        return [
            name, state, since, member.state?.version ?? "?", member.state?.mqttVersion ?? "?",
            health?.mapText ?? "?", (health?.status ?? "?") + (problems.isEmpty ? "" : ": \(problems)"),
        ]
    }
}

extension String {
    /// Without spaces at the end.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
