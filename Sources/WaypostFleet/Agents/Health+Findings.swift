import Waypost
package import WaypostMessages

/// What an agent's health means, for people and for what depends on it.
extension Health {
    package var isGreen: Bool { status == "green" }

    /// When the process started, in milliseconds since 1970.
    var started: Int64? {
        guard let at, let uptime else { return nil }
        return min(max(at.subtracting(clamping: uptime), 0), Fields.latestTime)
    }

    /// Without the checks that are well, the counters, and how opens ended: they are most of it.
    var withoutDetails: Health {
        guard case .object(var members) = json else { return self }
        (members["counters"], members["opens"]) = (nil, nil)
        if case .array(let checks)? = members["checks"] {
            members["checks"] = .array(checks.filter { $0["state"] != "ok" })
        }
        return Health(.object(members))
    }

    package var mqttVersion: String {
        switch mqtt {
        case 4?: "3.1.1"
        case let number?: String(number)
        case nil: "?"
        }
    }

    /// How long the process runs: `3 min`.
    package var uptimeText: String { uptime.map(TimeText.span) ?? "?" }

    /// How many messages an agent takes from one sender.
    package struct SenderLimit: Sendable {
        /// In a second, over a longer time.
        package var rate: Int
        /// At once.
        package var burst: Int
    }

    /// What it takes from one sender; nil when there is no limit, or it does not say.
    package var senderLimit: SenderLimit? {
        guard let rate = limits["intakeRate"]?.boundedInt, rate > 0 else { return nil }
        let burst = limits["intakeBurst"]?.boundedInt ?? 1
        return SenderLimit(rate: Int(clamping: rate), burst: min(max(1, Int(clamping: burst)), 1_000_000))
    }

    /// Whether the agent can do anything at all.
    package var isLoopRunning: Bool {
        !checks.contains { $0.name == "loop" && $0.state == .failed }
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
        guard let override else { return nil }
        let what = override.tag.map { "events of tag \($0)" } ?? "events"
        let until = override.until.subtracting(clamping: clockError)
        return
            "\(override.sender ?? "a sender") asked for \(what) of level \(override.level.letter) and higher until \(Timestamp.local(until))"
    }

    /// How many opens and commands wait, and for what; nil when none does.
    package var waitingText: String? {
        let texts = [heldText, scheduledText].compactMap(\.self)
        return texts.isEmpty ? nil : texts.joined(separator: "; ")
    }

    private var scheduledText: String? {
        guard let count = waiting["scheduled"]?.boundedInt, count > 0 else { return nil }
        let next = waiting["next"]?.time.map { ", the next one until \(Timestamp.local($0))" } ?? ""
        return "\(count.counted("command")) \(count == 1 ? "waits for its" : "wait for their") time\(next)"
    }

    private var heldText: String? {
        guard !held.isEmpty else { return nil }
        let gates = Set(held.map { $0["gate"]?.stringValue ?? "?" }).sorted().prefix(3)
        return
            "\(held.count.counted("open")) \(held.count == 1 ? "waits" : "wait") for \(gates.joined(separator: ", "))"
    }
}
