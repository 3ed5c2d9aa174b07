import Waypost
import WaypostBackend
import WaypostMessages

extension Health {
    /// The opens that wait, for people, each with the command that cancels it.
    private func waitingLines(of agent: String) -> [TerminalText] {
        held.map { open in
            let since = open["since"]?.time.flatMap { since in
                at.map { " for \(TimeText.span(max(0, $0 - since)))" }
            }
            let cancel = open["ref"]?.stringValue.map {
                "; to cancel it: waypost cancel \($0) --agent \(agent)"
            }
            return
                "  \(open["url"]?.stringValue ?? "an open") waits\(since ?? "") for \(open["gate"]?.stringValue ?? "?")\(cancel ?? "")"
        }
    }

    /// The health for people: a line with what matters, and one for each problem, a refused map, and each open that waits.
    ///
    /// - Parameters:
    ///   - how: how it was asked, ending with a comma and a space; may be empty.
    ///   - clockError: how far the agent's clock is ahead, in milliseconds.
    func lines(
        of agent: String, _ how: String, _ style: Style, clockError: Int64 = 0
    ) -> [TerminalText] {
        let shown = TerminalText(status)
        let status = isGreen ? style.green(shown) : status == "red" ? style.red(shown) : style.yellow(shown)
        let first: TerminalText = """
            \(agent): \(status), \(how)version \(version), MQTT \(mqttVersion), up \(uptimeText), map \(map.text)
            """
        let failed = checks.filter { $0.state == .failed }.flatMap { check -> [TerminalText] in
            ["  \(style.red(TerminalText("\(check.name): \(check.detail)")))"]
                + (check.advice.map { ["    → \($0)"] } ?? [])
        }
        let unknown = unknowns.flatMap { text, advice -> [TerminalText] in
            ["  \(style.yellow(TerminalText(text)))"] + (advice.map { ["    → \($0)"] } ?? [])
        }
        let refusal: [TerminalText] =
            map.refusal.map { ["  \(style.yellow(TerminalText("map " + $0)))"] } ?? []
        let level: [TerminalText] =
            levelAsked(clockError: clockError).map { ["  \(style.yellow(TerminalText("log: " + $0)))"] } ?? []
        return [first] + failed + unknown + refusal + level + waitingLines(of: agent)
    }
}
