import Waypost
import WaypostMessages

/// What an agent says about itself in `health`, read leniently: an older or newer agent says less or more.
struct Health: Sendable {
    private let json: JSONValue

    init(_ json: JSONValue) { self.json = json }

    var status: String { json["status"]?.stringValue ?? "unknown" }
    var isGreen: Bool { json["status"]?.stringValue == "green" }
    var version: String { json["version"]?.stringValue ?? "?" }
    /// The number of the connection that it was written on.
    var epoch: Int64? { json["epoch"]?.intValue }
    /// When it was written, in milliseconds since 1970.
    var at: Int64? { json["at"]?.intValue.map { min(max($0, 0), Fields.latestTime) } }

    /// When the process started, in milliseconds since 1970.
    var started: Int64? {
        guard let at, let uptime = json["uptime"]?.intValue else { return nil }
        let (start, overflow) = at.subtractingReportingOverflow(uptime)
        return overflow ? nil : start
    }

    var mqttVersion: String {
        switch json["mqtt"]?.intValue {
        case 4?: "3.1.1"
        case let number?: String(number)
        case nil: "?"
        }
    }

    var revision: Int64? { json["map"]?["rev"]?.intValue }

    /// `rev 42, 3 entries`, `none`.
    var mapText: String {
        let entries = json["map"]?["entries"]?.intValue ?? 0
        guard entries > 0 || revision != nil else { return "none" }
        let inactive = json["map"]?["inactive"]?.intValue ?? 0
        return (revision.map { "rev \($0), " } ?? "") + entries.counted("entry", "entries")
            + (inactive > 0 ? ", \(inactive) inactive" : "")
    }

    /// How long the process runs: `3 min`.
    var uptime: String { json["uptime"]?.intValue.map(Self.span) ?? "?" }

    /// Whether the agent can do anything at all.
    var isLoopRunning: Bool {
        !checks.contains { $0["name"]?.stringValue == "loop" && $0["ok"]?.boolValue == false }
    }

    /// All checks, as they came.
    var checks: [JSONValue] { json["checks"]?.arrayValue ?? [] }

    /// The checks that failed, each with what was found.
    var problems: [String] {
        checks.filter { $0["ok"]?.boolValue == false }.map {
            "\($0["name"]?.stringValue ?? "check"): \($0["detail"]?.stringValue ?? "failed")"
        }
    }

    /// The health for people: a line with what matters, and one for each problem.
    ///
    /// - Parameter how: how it was asked, ending with a comma and a space; may be empty.
    func lines(of agent: String, _ how: String, _ style: Style) -> [TerminalText] {
        let status = isGreen ? style.green(TerminalText(status)) : style.red(TerminalText(status))
        let first: TerminalText = """
            \(agent): \(status), \(how)version \(version), MQTT \(mqttVersion), up \(uptime), map \(mapText)
            """
        return [first] + problems.map { "  \(style.red(TerminalText($0)))" }
    }

    /// Milliseconds in the largest unit that gives a number people can read.
    static func span(_ milliseconds: Int64) -> String {
        switch milliseconds / 1000 {
        case ..<120: "\(max(0, milliseconds / 1000)) s"
        case ..<7_200: "\(milliseconds / 60_000) min"
        case ..<172_800: "\(milliseconds / 3_600_000) h"
        default: "\(milliseconds / 86_400_000) d"
        }
    }
}
