package import Waypost
package import WaypostMessages

/// What an agent says about itself in `health`, read leniently: an older or newer agent says less or more.
package struct Health: Sendable {
    private let json: JSONValue

    package init(_ json: JSONValue) { self.json = json }

    package var status: String { json["status"]?.stringValue ?? "unknown" }
    package var isGreen: Bool { json["status"]?.stringValue == "green" }
    package var version: String { json["version"]?.stringValue ?? "?" }
    /// The number of the connection that it was written on.
    package var epoch: Int64? { json["epoch"]?.intValue }
    /// When it was written, in milliseconds since 1970.
    package var at: Int64? { json["at"]?.intValue.map { min(max($0, 0), Fields.latestTime) } }

    /// When the process started, in milliseconds since 1970.
    package var started: Int64? {
        guard let at, let uptime = json["uptime"]?.intValue else { return nil }
        let (start, overflow) = at.subtractingReportingOverflow(uptime)
        return overflow ? nil : start
    }

    package var mqttVersion: String {
        switch json["mqtt"]?.intValue {
        case 4?: "3.1.1"
        case let number?: String(number)
        case nil: "?"
        }
    }

    /// The groups that it is in beside `all`; none of an agent that does not say.
    package var groups: [String] { json["groups"]?.arrayValue?.compactMap(\.stringValue) ?? [] }

    package var map: MapSummary { MapSummary(json["map"] ?? .null) }

    /// How long the process runs: `3 min`.
    package var uptime: String { json["uptime"]?.intValue.map(TimeText.span) ?? "?" }

    /// How many messages an agent takes from one sender.
    package struct SenderLimit: Sendable {
        /// In a second, over a longer time.
        package var rate: Int
        /// At once.
        package var burst: Int
    }

    /// What it takes from one sender; nil when there is no limit, or it does not say.
    package var senderLimit: SenderLimit? {
        guard let limits = json["limits"], let rate = limits["intakeRate"]?.intValue, rate > 0 else {
            return nil
        }
        let burst = limits["intakeBurst"]?.intValue ?? 1
        return SenderLimit(rate: Int(clamping: rate), burst: min(max(1, Int(clamping: burst)), 1_000_000))
    }

    /// Whether the agent can do anything at all.
    package var isLoopRunning: Bool {
        !checks.contains { $0.name == "loop" && $0.state == .failed }
    }

    /// Far more checks than an agent has.
    private static let maximumChecks = 1_000

    package var checks: [HealthCheck] {
        (json["checks"]?.arrayValue ?? []).prefix(Self.maximumChecks).compactMap { HealthCheck($0) }
    }

    /// The checks that failed, each with what was found.
    package var problems: [String] {
        checks.filter { $0.state == .failed }.map { "\($0.name): \($0.detail)" }
    }

    /// The checks that were not made, those with one reason together: `echo, commands: not known: …`.
    package var unknowns: [(text: String, advice: String?)] {
        var groups: [(names: [String], check: HealthCheck)] = []
        for check in checks where check.state == .unknown {
            if let index = groups.firstIndex(where: { $0.check.detail == check.detail }) {
                groups[index].names.append(check.name)
            } else {
                groups.append(([check.name], check))
            }
        }
        return groups.map { names, check in
            ("\(names.joined(separator: ", ")): not known: \(check.detail)", check.advice)
        }
    }

    /// What a `log` command asked for, and who; nil when none is in force.
    ///
    /// - Parameter clockError: How far the agent's clock is ahead, in milliseconds.
    package func levelAsked(clockError: Int64 = 0) -> String? {
        guard let asked = json["log"]?["override"], let level = asked["level"]?.stringValue else {
            return nil
        }
        let what = asked["tag"]?.stringValue.map { "events of tag \($0)" } ?? "events"
        let until = asked["until"]?.intValue.map {
            " until \(Timestamp.local(min(max($0, 0), Fields.latestTime).subtractingReportingOverflow(clockError).partialValue))"
        }
        return
            "\(asked["from"]?.stringValue ?? "a sender") asked for \(what) of level \(level.uppercased()) and higher\(until ?? "")"
    }

    /// The opens that an interceptor lets wait, the longest first; of many only some.
    package var held: [JSONValue] { json["waiting"]?["gates"]?.arrayValue ?? [] }

    /// How many opens wait, and for what; nil when none does.
    package var waiting: String? {
        guard !held.isEmpty else { return nil }
        let gates = Set(held.map { $0["gate"]?.stringValue ?? "?" }).sorted().prefix(3)
        return
            "\(held.count.counted("open")) \(held.count == 1 ? "waits" : "wait") for \(gates.joined(separator: ", "))"
    }
}
